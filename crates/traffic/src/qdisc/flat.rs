//! The common part of `priq`, `drr`, `ets` and `fairq`, which differ only in the selection of the next class:
//! classes without hierarchy, filters that lead to them, and the operations of a discipline on their queues.

use crate::classify::Rule;
use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::leaves::{self, ClassSpec, Leaves};
use base::packet::PacketId;
use base::priorities::Priorities;
use base::setting::{OutOfRange, Settings, in_range};
use base::units::Instant;

/// The parameters of such a discipline: its classes, and the packets of each.
pub trait FlatParameters {
    /// A class.
    type Class: ClassSpec;

    /// The classes.
    fn classes(&self) -> &[Self::Class];

    /// The filters, in the order of checking.
    fn filters(&self) -> &[Rule];

    /// The class for packets that no filter matches; the last one unless given.
    fn default_class(&self) -> Option<&str>;
}

/// Defines the parameters of a module with classes of type `Class`.
macro_rules! flat_parameters {
    () => {
        base::setting::settings! {
            classes: Class;
            /// The classes and the filters that assign packets to them.
            #[derive(Clone, Debug, Default, PartialEq, Eq)]
            pub struct Parameters {
                /// At least one class.
                pub classes: alloc::vec::Vec<Class>,
                /// The filters in matching order.
                pub filters: alloc::vec::Vec<$crate::classify::Rule>,
                /// Class for packets that no filter matches; the last one unless given.
                pub default_class: Option<alloc::string::String>,
            }
        }

        impl $crate::qdisc::flat::FlatParameters for Parameters {
            type Class = Class;
            fn classes(&self) -> &[Class] {
                &self.classes
            }
            fn filters(&self) -> &[$crate::classify::Rule] {
                &self.filters
            }
            fn default_class(&self) -> Option<&str> {
                self.default_class.as_deref()
            }
        }
    };
}
pub(super) use flat_parameters;

/// Implements `ClassSpec` for a module's `Class` with any queue that a class may have as its `queue`. The
/// optional argument is the field with the priorities of the class.
macro_rules! queue_of_choice {
    ($($priorities:ident)?) => {
        impl $crate::qdisc::leaves::ClassSpec for Class {
            type Queue = $crate::qdisc::Qdisc;
            fn name(&self) -> &str {
                &self.name
            }
            fn parent(&self) -> Option<&str> {
                self.parent.as_deref()
            }
            $(fn priorities(&self) -> base::priorities::Priorities {
                self.$priorities
            })?
            fn attach(
                &self,
                port: $crate::discipline::Port,
            ) -> Result<Self::Queue, $crate::qdisc::leaves::Error> {
                $crate::qdisc::leaves::attach(&self.name, &self.queue, port)
            }
            fn change(&self, queue: &mut Self::Queue, now: base::units::Instant) -> bool {
                $crate::discipline::Discipline::change(queue, &self.queue, now.into()).is_ok()
            }
        }
    };
}
pub(super) use queue_of_choice;

/// Selection of the next class. Classes are numbered as in the leaves.
pub trait Scheduler: Sized {
    /// A class.
    type Class: ClassSpec;

    /// The parameters.
    type Parameters: FlatParameters<Class = Self::Class> + Settings;

    /// Why parameters are refused.
    type Error: From<leaves::Error> + From<OutOfRange>;

    /// See [`Discipline::DISTINGUISHES_FLOWS`].
    const DISTINGUISHES_FLOWS: bool = false;

    /// Creates the scheduler of these classes, all without packets. Each setting is within its range; the
    /// combination is checked here.
    fn new(classes: &[Self::Class], port: Port) -> Result<Self, Self::Error>;

    /// Takes over from `old`. The classes with the old numbers `leaving` are the last ones of `leaves`.
    fn take_over(&mut self, old: &Self, leaving: &[usize], leaves: &Leaves<Self::Class>);

    /// A packet came into a class.
    #[inline]
    fn wake(&mut self, class: usize) {
        let _ = class;
    }

    /// Whether a lone packet of this class goes next, without a change of the scheduler's state.
    fn passes(&self, class: usize) -> bool {
        let _ = class;
        false
    }

    /// Takes the packet that is sent next.
    fn take(
        &mut self,
        leaves: &mut Leaves<Self::Class>,
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId>;

    /// The packet that [`Scheduler::take`] would take at this time.
    fn head(
        &mut self,
        leaves: &mut Leaves<Self::Class>,
        packets: &Packets,
        now: Instant,
    ) -> Option<PacketId>;

    /// Handles the removal of all packets.
    fn clear(&mut self) {}
}

/// A discipline of classes side by side.
#[derive(Debug)]
pub struct Flat<S: Scheduler> {
    leaves: Leaves<S::Class>,
    scheduler: S,
}

impl<S: Scheduler> Discipline for Flat<S> {
    type Parameters = S::Parameters;
    type Error = S::Error;
    const DISTINGUISHES_FLOWS: bool = S::DISTINGUISHES_FLOWS;

    fn attach(parameters: &S::Parameters, port: Port) -> Result<Self, S::Error> {
        in_range(parameters)?;
        let (classes, filters) = (FlatParameters::classes(parameters), parameters.filters());
        let scheduler = S::new(classes, port)?;
        let leaves = Leaves::new(classes, filters, parameters.default_class(), port)?;
        Ok(Self { leaves, scheduler })
    }

    fn change(&mut self, parameters: &S::Parameters, clock: WireClock) -> Result<(), S::Error> {
        in_range(parameters)?;
        let (classes, filters) = (FlatParameters::classes(parameters), parameters.filters());
        let mut scheduler = S::new(classes, self.leaves.port())?;
        let leaving =
            self.leaves.change(classes, filters, parameters.default_class(), clock.now)?;
        scheduler.take_over(&self.scheduler, &leaving, &self.leaves);
        self.scheduler = scheduler;
        Ok(())
    }

    fn prepare_for(&mut self, packets: usize) {
        self.leaves.prepare_for(packets);
    }

    fn set_port(&mut self, port: Port, clock: WireClock) {
        self.leaves.set_port(port, clock);
    }

    fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        let (class, answer) = self.leaves.enqueue(packets, packet, now);
        if answer == Enqueued::Queued {
            self.scheduler.wake(class);
        }
        answer
    }

    fn pass(&mut self, packets: &mut Packets, packet: PacketId) -> bool {
        self.leaves.pass(packets, packet, |class| self.scheduler.passes(class))
    }

    fn dequeue(&mut self, packets: &mut Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        let sent = self.scheduler.take(&mut self.leaves, packets, now);
        sent.map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn peek(&mut self, packets: &Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        let head = self.scheduler.head(&mut self.leaves, packets, now);
        head.map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn hold(&mut self, stopped: Priorities) {
        self.leaves.hold(stopped);
        // A class may have left the round while it was stopped.
        self.leaves.backlogged().for_each(|class| self.scheduler.wake(class));
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        self.leaves.flush(packets, now);
        self.scheduler.clear();
    }

    fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    fn statistics(&self) -> Statistics {
        self.leaves.statistics()
    }

    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        self.leaves.classes(each);
    }
}
