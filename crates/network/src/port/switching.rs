//! Changes of a port's discipline or its parameters at run time.

use base::{DropReason, PacketId};
use traffic::Discipline;
use traffic::qdisc::{self, Qdisc, fifo};
use traffic::reservation::{Refusal, Request};

use super::Port;
use crate::context::{Context, Egress};
use crate::custody::Owner;
use crate::guard::{Breach, Guard};
use crate::observer::{Event, Observer};

impl Port {
    /// Switches the port to these parameters, of the same discipline or another (as ALTQ does). No queued packet is
    /// lost: the same discipline keeps what it can in its classes; packets left by another one go out before those
    /// of the new one.
    ///
    /// # Errors
    ///
    /// The discipline's refusal; everything then stays as it was.
    pub fn switch<E: Egress, O: Observer>(
        &mut self,
        parameters: &qdisc::Parameters,
        owner: &mut dyn Owner,
        cx: &mut Context<'_, E, O>,
    ) -> Result<(), qdisc::Error> {
        self.report_classes(cx);
        if self.qdisc().name() == parameters.name() {
            self.qdisc.get_mut().change(parameters, self.device.clock(cx.now))?;
        } else {
            let fresh = Qdisc::attach(parameters, self.link)?;
            self.install(fresh, owner, cx);
        }
        self.asked = parameters.clone();
        self.leave_classes(cx);
        self.go_on(cx);
        Ok(())
    }

    /// Puts a plain FIFO in the discipline's place until it is enabled again.
    ///
    /// # Errors
    ///
    /// None for a port with frames that fit a FIFO's default limits.
    pub fn disable<E: Egress, O: Observer>(
        &mut self,
        owner: &mut dyn Owner,
        cx: &mut Context<'_, E, O>,
    ) -> Result<(), qdisc::Error> {
        let asked = self.asked.clone();
        self.switch(&qdisc::Parameters::Fifo(fifo::Parameters::default()), owner, cx)?;
        self.asked = asked;
        Ok(())
    }

    /// Restores the discipline that was requested last.
    ///
    /// # Errors
    ///
    /// None, because it was accepted before.
    pub fn enable<E: Egress, O: Observer>(
        &mut self,
        owner: &mut dyn Owner,
        cx: &mut Context<'_, E, O>,
    ) -> Result<(), qdisc::Error> {
        let asked = self.asked.clone();
        self.switch(&asked, owner, cx)
    }

    /// Requests a class from the discipline, which admits or refuses it with its calculation.
    ///
    /// # Errors
    ///
    /// The discipline's refusal; everything then stays as it was.
    pub fn reserve<E: Egress, O: Observer>(
        &mut self,
        request: &Request,
        cx: &mut Context<'_, E, O>,
    ) -> Result<(), Refusal> {
        self.report_classes(cx);
        self.qdisc.get_mut().reserve(request, self.device.clock(cx.now))?;
        self.leave_classes(cx);
        self.go_on(cx);
        Ok(())
    }

    /// Releases the reservation of a class; its queued packets are still sent.
    ///
    /// # Errors
    ///
    /// If there is no reservation of that name.
    pub fn release<E: Egress, O: Observer>(
        &mut self,
        name: &str,
        cx: &mut Context<'_, E, O>,
    ) -> Result<(), Refusal> {
        self.report_classes(cx);
        self.qdisc.get_mut().release(name, self.device.clock(cx.now))?;
        self.leave_classes(cx);
        self.go_on(cx);
        Ok(())
    }

    /// Reports each class before its number may change.
    #[cold]
    fn report_classes<E, O: Observer>(&self, cx: &mut Context<'_, E, O>) {
        let port = self.id;
        self.qdisc().classes(&mut |class, name, _| {
            cx.observer.on(Event::Renumbered { port, class, name });
        });
    }

    /// Clears the class numbers of packets that wait here, because the classes are gone.
    #[cold]
    fn leave_classes<E, O>(&self, cx: &mut Context<'_, E, O>) {
        let held: Vec<PacketId> = cx.packets.held_by(self.holder()).map(|(id, _)| id).collect();
        held.into_iter().for_each(|id| cx.packets[id].class = 0);
    }

    /// Takes over from the present discipline. Packets that it does not return are dropped; returns their number.
    fn install<E, O: Observer>(
        &mut self,
        fresh: Qdisc,
        owner: &mut dyn Owner,
        cx: &mut Context<'_, E, O>,
    ) -> u64 {
        self.report_discarded(owner, cx);
        let old = core::mem::replace(&mut self.qdisc, Guard::new(fresh));
        if let Some(control) = &mut self.flow_control {
            control.forget_passed();
        }
        let (counted, lost) = old.abandon(&mut self.left, cx.packets, cx.now);
        self.divert(cx.now);
        let longest = self.longest_with(&counted);
        self.retired += counted;
        self.retired.backlog_bytes_max = longest;
        self.left_bytes = self.retired.backlog_bytes;
        if lost > 0 {
            self.drop_lost(owner, cx);
        }
        lost
    }

    /// Drops the packets in the port's custody that are not `left`.
    #[cold]
    fn drop_lost<E, O: Observer>(&self, owner: &mut dyn Owner, cx: &mut Context<'_, E, O>) {
        let mut left: Vec<PacketId> = self.left.iter().collect();
        left.sort_unstable();
        let kept = self.flow_control.as_ref().and_then(|control| control.held_packet());
        let held = cx.packets.held_by(self.holder()).map(|(id, _)| id);
        let limited = |id| self.reaction_points.as_ref().is_some_and(|points| points.holds(id));
        let held = held.filter(|&id| Some(id) != kept && !limited(id));
        let lost: Vec<PacketId> = held.filter(|id| left.binary_search(id).is_err()).collect();
        for id in lost {
            self.drop(id, DropReason::Fault, owner, cx);
        }
    }

    /// Replaces a discipline that broke its contract with a plain FIFO, and reports it. What the discipline held
    /// goes out first, as far as it gives it back. [`Port::enable`] attaches it again.
    #[cold]
    pub fn fail<E: Egress, O: Observer>(
        &mut self,
        fault: &Breach,
        owner: &mut dyn Owner,
        cx: &mut Context<'_, E, O>,
    ) {
        let name = self.qdisc().name();
        let parameters = qdisc::Parameters::Fifo(fifo::Parameters::default());
        let Ok(fresh) = Qdisc::attach(&parameters, self.link) else { return };
        self.report_classes(cx);
        let lost = self.install(fresh, owner, cx);
        self.leave_classes(cx);
        cx.observer.on(Event::Failed { port: self.id, name, fault, lost, now: cx.now });
        self.go_on(cx);
    }
}
