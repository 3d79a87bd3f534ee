//! The state of the plan's flows at modelled hosts: samples, goodput marks and totals.

use applications::results::Results;
use base::{FlowId, Instant};
use network::observer::{Event, Observer};
use network::{Node, host::Host};
use record::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::FlowEnd;
use transport::Info;

use crate::engine::Engine;
use crate::goodput::GoodputMarks;
use crate::world::World;

impl Engine {
    /// Adds the flows that begin at `until` at the latest, of a world that has only those which begin earlier.
    pub fn begin_flows(&mut self, plan: &Plan, until: Instant) {
        while let Some(ends) = self.world_mut().begin_next(plan, until) {
            ends.into_iter().for_each(|node| self.arm(node));
        }
    }
}

/// The hosts of a run, whose state may be read.
pub trait Hosts {
    /// The modelled host of that number, if the node is one.
    fn host(&self, node: usize) -> Option<&Host>;

    /// The world, for what is the same in each of its parts.
    fn world(&self) -> &World;

    /// The time.
    fn now(&self) -> Instant;

    /// Reports the present state of both ends of each flow that has begun, without the ends on a real kernel.
    fn sample_flows(&self, plan: &Plan, now: Instant, observer: &mut impl Observer) {
        for (number, flow) in plan.flows.iter().enumerate() {
            if now >= flow.span.start && plan.is_modelled(flow) {
                let id = FlowId(number as u32);
                let [sender, receiver] =
                    [flow.writer(), flow.reader()].map(|node| self.info(node, id));
                observer.on(Event::FlowSample { flow: id, now, ends: [&sender, &receiver] });
            }
        }
    }

    /// Takes the due marks of flow `number`.
    fn mark_goodput(&self, plan: &Plan, number: usize, marks: &mut GoodputMarks) {
        marks.note(self.now(), self.progress(plan, number).0);
    }

    /// The totals of flow `number` so far; without drops, which observers count.
    fn flow_totals(&self, plan: &Plan, number: usize, marks: &GoodputMarks) -> FlowTotals {
        let (flow, id) = (&plan.flows[number], FlowId(number as u32));
        let [sender, receiver] =
            [0, 1].map(|end| self.end_info(plan, FlowEnd { flow: number, end }));
        let results = [flow.from, flow.to].map(|node| {
            let (application, socket) = self.host(node)?.application(id)?;
            Results::of(application, socket)
        });
        FlowTotals {
            marks: sender.ecn_marks + receiver.ecn_marks,
            sender: sender.into(),
            receiver: receiver.into(),
            delay: self.host(flow.to).and_then(|host| host.delay(id)).map(Box::new),
            left_out: !plan.is_simulated(flow),
            ..marks.totals(flow, self.now(), self.progress(plan, number), results)
        }
    }

    /// The bytes that the flow's receiver has read, and the time of the last read.
    fn progress(&self, plan: &Plan, number: usize) -> (u64, Instant) {
        let host = self.host(plan.flows[number].reader());
        host.and_then(|host| host.progress(FlowId(number as u32))).unwrap_or_default()
    }

    /// The state of a flow's end at that node, if it is modelled there.
    fn info(&self, node: usize, flow: FlowId) -> Info {
        self.host(node).and_then(|host| host.info(flow)).unwrap_or_default()
    }

    /// The state of a flow's end, if it is modelled; before the flow begins, as it will begin.
    fn end_info(&self, plan: &Plan, end: FlowEnd) -> Info {
        let flow = &plan.flows[end.flow];
        let host = self.host([flow.from, flow.to][end.end]);
        let planned = || self.world().socket(plan, end).filter(|_| plan.is_simulated(flow))?.info();
        let info = host.and_then(|host| host.info(FlowId(end.flow as u32)).or_else(planned));
        info.unwrap_or_default()
    }
}

impl Hosts for Engine {
    fn host(&self, node: usize) -> Option<&Host> {
        Engine::world(self).nodes.get(node).and_then(Node::as_host)
    }

    fn world(&self) -> &World {
        Engine::world(self)
    }

    fn now(&self) -> Instant {
        Engine::now(self)
    }
}
