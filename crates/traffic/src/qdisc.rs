//! All queueing disciplines, one file each, and the registry of their names.

use alloc::boxed::Box;
use alloc::string::ToString;

use base::Fault;

use crate::discipline::{
    Backlog, Dequeued, Discipline, Enqueued, Measured, Port, Relaxed, Statistics, WireClock,
};
use crate::packets::Packets;
use crate::reservation::{Refusal, Request};
use base::packet::{Packet, PacketId};
use base::priorities::Priorities;
use base::setting::{Field, Kind, Queue, Settings, Value, registry};
use base::subject::Subject;
use base::units::Instant;

pub mod blue;
pub mod cbq;
mod chains;
mod class_queue;
pub mod codel;
pub mod drr;
pub mod ets;
pub mod fairq;
pub mod fifo;
mod flat;
mod flow_numbers;
pub mod fq_codel;
mod hash;
pub mod hfsc;
mod inner;
pub mod jobs;
mod leaves;
mod longest;
pub mod mark;
mod page;
pub mod pie;
mod priorities;
pub mod priq;
mod promises;
pub mod psp;
mod queue;
pub mod red;
pub mod rio;
mod rounds;
mod tally;
pub mod tbr;
mod tournament;
pub mod wfq;

pub use page::Page;

/// The disciplines that may be a class's queue: they have no classes, and can send whenever they have
/// packets.
pub(crate) const LEAVES: &[&str] =
    &["fifo", "red", "mark", "rio", "blue", "codel", "pie", "fq_codel"];

/// The documentation of a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in a scenario and on the command line.
    pub name: &'static str,
    /// A one-line summary.
    pub summary: &'static str,
    /// The discipline's page in the catalogue.
    pub page: Page,
    /// A scenario that shows it: `scenarios/disciplines/NAME.toml`.
    pub example: &'static str,
}

/// One line for each discipline: variant, module and name, type, how a port holds it, summary.
///
/// Every port is as large as the largest variant that it holds, so all except the plainest are boxed.
macro_rules! disciplines {
    ($($variant:ident, $module:ident, $type:ident, $held:ty, $summary:literal;)+) => {
        /// All disciplines.
        pub const REGISTRY: &[Entry] =
            &[$(Entry {
                name: stringify!($module),
                summary: $summary,
                page: $module::PAGE,
                example: include_str!(concat!(
                    "../../../scenarios/disciplines/",
                    stringify!($module),
                    ".toml"
                )),
            }),+];

        registry! {
            /// The parameters of any discipline.
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub enum Parameters: Settings {
                $(#[doc = $summary] $variant($module::Parameters) = stringify!($module), $summary;)+
            }
        }

        /// Any discipline, dispatched without a vtable, so a packet costs no indirect call. The variant's tag
        /// has a byte of its own: decoding it from unused values of a variant would take longer.
        #[derive(Debug)]
        #[repr(u8)]
        pub enum Qdisc {
            $(#[doc = $summary] $variant($held)),+
        }

        /// Why parameters were refused.
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        pub enum Error {
            $(
                #[doc = concat!("See [`", stringify!($module), "::Error`].")]
                #[error(transparent)]
                $variant(Box<$module::Error>),
            )+
            /// A running discipline takes new parameters, but never becomes another one.
            #[error("a running {is} cannot become {wanted}: attach a new {wanted} in its place")]
            OtherDiscipline {
                /// The discipline that runs.
                is: &'static str,
                /// The discipline that the parameters are for.
                wanted: &'static str,
            },
        }

        $(
            impl From<$module::Error> for Error {
                fn from(error: $module::Error) -> Self {
                    Self::$variant(Box::new(error))
                }
            }
        )+

        impl From<Error> for Fault {
            fn from(error: Error) -> Self {
                Self::usage(error.to_string(), "")
            }
        }

        impl Error {
            /// The subject of the error.
            pub fn subject(&self) -> Subject<'_> {
                match self {
                    $(Self::$variant(error) => error.subject(),)+
                    Self::OtherDiscipline { .. } => Subject::WHOLE,
                }
            }
        }

        impl Parameters {
            /// The default parameters of the discipline of that name, if there is one.
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($module) => {
                        Some(Self::$variant($module::Parameters::default()))
                    })+
                    _ => None,
                }
            }

            /// Whether the discipline distinguishes packets by the numbers of their flows or hosts, other than in filters.
            pub const fn distinguishes_flows(&self) -> bool {
                match self {
                    $(Self::$variant(_) => <$module::$type as Discipline>::DISTINGUISHES_FLOWS),+
                }
            }
        }

        impl Qdisc {
            /// The discipline's name in [`REGISTRY`].
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => stringify!($module)),+
                }
            }
        }

        /// The operations of each packet, except those of the plain FIFO, which most ports have and which has
        /// a fast path.
        ///
        /// Each arm is a call with the same arguments, which the compiler turns into a jump. A discipline
        /// found through the jump table therefore costs little more than a statically known one.
        impl Qdisc {
            #[inline]
            fn enqueue_any(
                &mut self,
                packets: &mut Packets,
                id: PacketId,
                clock: WireClock,
            ) -> Enqueued {
                match self {
                    $(Self::$variant(q) => {
                        #[inline(never)]
                        fn jump(
                            q: &mut $module::$type,
                            packets: &mut Packets,
                            id: PacketId,
                            clock: WireClock,
                        ) -> Enqueued {
                            q.enqueue(packets, id, clock)
                        }
                        jump(q, packets, id, clock)
                    })+
                }
            }
            #[inline]
            fn dequeue_any(&mut self, packets: &mut Packets, clock: WireClock) -> Dequeued {
                match self {
                    $(Self::$variant(q) => {
                        #[inline(never)]
                        fn jump(
                            q: &mut $module::$type,
                            packets: &mut Packets,
                            clock: WireClock,
                        ) -> Dequeued {
                            q.dequeue(packets, clock)
                        }
                        jump(q, packets, clock)
                    })+
                }
            }
            #[inline(never)]
            fn peek_any(&mut self, packets: &Packets, clock: WireClock) -> Dequeued {
                match self {
                    $(Self::$variant(q) => q.peek(packets, clock)),+
                }
            }
            #[inline(never)]
            fn backlog_any(&self) -> Backlog {
                match self {
                    $(Self::$variant(q) => {
                        #[inline(never)]
                        fn jump(q: &$module::$type) -> Backlog {
                            q.backlog()
                        }
                        jump(q)
                    })+
                }
            }
            #[inline(never)]
            fn pass_any(&mut self, packets: &mut Packets, id: PacketId) -> bool {
                match self {
                    $(Self::$variant(q) => q.pass(packets, id)),+
                }
            }
            #[inline(never)]
            fn is_any_empty(&self) -> bool {
                match self {
                    $(Self::$variant(q) => q.is_empty()),+
                }
            }
        }

        impl Discipline for Qdisc {
            type Parameters = Parameters;
            type Error = Error;

            fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
                Ok(match parameters {
                    $(Parameters::$variant(p) => Self::$variant(attached::<$module::$type, _>(p, port)?)),+
                })
            }
            fn change(&mut self, parameters: &Parameters, clock: WireClock) -> Result<(), Error> {
                let (is, wanted) = (self.name(), parameters.name());
                match (self, parameters) {
                    $((Self::$variant(q), Parameters::$variant(p)) => {
                        changed::<$module::$type>(q, p, clock)
                    })+
                    _ => Err(Error::OtherDiscipline { is, wanted }),
                }
            }
            fn prepare_for(&mut self, packets: usize) {
                match self {
                    $(Self::$variant(q) => q.prepare_for(packets)),+
                }
            }
            fn set_port(&mut self, port: Port, clock: WireClock) {
                match self {
                    $(Self::$variant(q) => q.set_port(port, clock)),+
                }
            }
            fn reserve(&mut self, request: &Request, clock: WireClock) -> Result<(), Refusal> {
                match self {
                    $(Self::$variant(q) => q.reserve(request, clock)),+
                }
            }
            fn release(&mut self, name: &str, clock: WireClock) -> Result<(), Refusal> {
                match self {
                    $(Self::$variant(q) => q.release(name, clock)),+
                }
            }
            fn reservations(&self) -> &[Request] {
                match self {
                    $(Self::$variant(q) => q.reservations()),+
                }
            }
            #[inline]
            fn enqueue(&mut self, packets: &mut Packets, id: PacketId, clock: WireClock) -> Enqueued {
                if let Self::Fifo(q) = self {
                    return q.enqueue(packets, id, clock);
                }
                self.enqueue_any(packets, id, clock)
            }
            #[inline]
            fn pass(&mut self, packets: &mut Packets, id: PacketId) -> bool {
                if let Self::Fifo(q) = self {
                    return q.pass(packets, id);
                }
                self.pass_any(packets, id)
            }
            #[inline]
            fn dequeue(&mut self, packets: &mut Packets, clock: WireClock) -> Dequeued {
                if let Self::Fifo(q) = self {
                    return q.dequeue(packets, clock);
                }
                self.dequeue_any(packets, clock)
            }
            #[inline]
            fn peek(&mut self, packets: &Packets, clock: WireClock) -> Dequeued {
                if let Self::Fifo(q) = self {
                    return q.peek(packets, clock);
                }
                self.peek_any(packets, clock)
            }
            fn hold(&mut self, stopped: Priorities) {
                match self {
                    $(Self::$variant(q) => q.hold(stopped)),+
                }
            }
            fn listens(&self) -> bool {
                match self {
                    $(Self::$variant(q) => q.listens()),+
                }
            }
            fn acknowledged(&mut self, packet: &Packet, now: Instant) {
                match self {
                    $(Self::$variant(q) => q.acknowledged(packet, now)),+
                }
            }
            fn flush(&mut self, packets: &mut Packets, now: Instant) {
                match self {
                    $(Self::$variant(q) => q.flush(packets, now)),+
                }
            }
            #[inline]
            fn is_empty(&self) -> bool {
                if let Self::Fifo(q) = self {
                    return q.is_empty();
                }
                self.is_any_empty()
            }
            fn statistics(&self) -> Statistics {
                match self {
                    $(Self::$variant(q) => q.statistics()),+
                }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                if let Self::Fifo(q) = self {
                    return q.backlog();
                }
                self.backlog_any()
            }
            fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
                match self {
                    $(Self::$variant(q) => q.classes(each)),+
                }
            }
            fn measured(&self, each: &mut dyn FnMut(&str, Measured)) {
                match self {
                    $(Self::$variant(q) => q.measured(each)),+
                }
            }
            fn relaxed(&self, each: &mut dyn FnMut(&str, Relaxed)) {
                match self {
                    $(Self::$variant(q) => q.relaxed(each)),+
                }
            }
        }
    };
}

/// Attaches one kind of discipline. Apart, so that the stack of a kernel has room for one at a time.
#[inline(never)]
fn attached<D: Discipline, H: From<D>>(
    parameters: &D::Parameters,
    port: Port,
) -> Result<H, D::Error> {
    Ok(D::attach(parameters, port)?.into())
}

/// Changes one kind of discipline; apart for the same reason.
#[inline(never)]
fn changed<D: Discipline>(
    discipline: &mut D,
    parameters: &D::Parameters,
    clock: WireClock,
) -> Result<(), Error>
where
    Error: From<D::Error>,
{
    Ok(discipline.change(parameters, clock)?)
}

disciplines! {
    Fifo, fifo, Fifo, fifo::Fifo, "drop-tail by bytes and packets: a plain interface or router port";
    Psp, psp, Psp, Box<psp::Psp>, "precise pacing: gap frames space the packets, a rate for each class";
    Priq, priq, Priq, Box<priq::Priq>, "strict priorities: a class sends only while all of higher priority are empty";
    Cbq, cbq, Cbq, Box<cbq::Cbq>, "class-based queueing: a rate for each class, and borrowing of unused bandwidth";
    Hfsc, hfsc, Hfsc, Box<hfsc::Hfsc>, "hierarchical fair service curves: guaranteed delay, shared rest, upper limits";
    Jobs, jobs, Jobs, Box<jobs::Jobs>, "joint buffer management and scheduling: delay, loss and rate, absolute or in proportion";
    Drr, drr, Drr, Box<drr::Drr>, "deficit round robin: classes share the link by quantum or weight";
    Ets, ets, Ets, Box<ets::Ets>, "enhanced transmission selection: strict classes, then shares in percent";
    Wfq, wfq, Wfq, Box<wfq::Wfq>, "weighted fair queueing: flows share by weight, on hashed queues or exactly";
    Fairq, fairq, Fairq, Box<fairq::Fairq>, "priorities, with fair queueing of the flows within each, thin flows first";
    FqCodel, fq_codel, FqCodel, Box<fq_codel::FqCodel>, "fair queueing of flows, sparse ones first, with CoDel on each";
    Red, red, Red, Box<red::Red>, "random early detection: drops or marks before the queue is full";
    Mark, mark, Mark, Box<mark::Mark>, "marks above a threshold, and drops only when full: for DCTCP and DCQCN";
    Rio, rio, Rio, Box<rio::Rio>, "RED for three drop precedences: out-of-profile packets are dropped first";
    Blue, blue, Blue, Box<blue::Blue>, "drops or marks with a probability that overflows raise and idle links lower";
    Codel, codel, Codel, Box<codel::Codel>, "controlled delay: drops or marks once packets wait too long";
    Pie, pie, Pie, Box<pie::Pie>, "drops or marks with a probability that a controller computes from the delay";
    Tbr, tbr, Tbr, Box<tbr::Tbr>, "token-bucket regulator: limits another discipline to a rate and a burst";
}

impl Parameters {
    /// The discipline that a setting's value is, if it is one.
    pub fn of(value: &Value) -> Option<&Self> {
        if let Value::Queue(queue) = value { queue.get() } else { None }
    }
}

impl From<Parameters> for Value {
    fn from(parameters: Parameters) -> Self {
        Self::Queue(Queue::new(parameters))
    }
}

impl Field for Parameters {
    const KIND: Option<Kind> = Some(Kind::Queue);
    type Measure = ();
    fn to_value(&self) -> Option<Value> {
        Some(self.clone().into())
    }
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Queue(queue) = value { queue.into() } else { None }
    }
}

/// A queue that is always a plain FIFO.
impl Field for fifo::Parameters {
    const KIND: Option<Kind> = Some(Kind::Queue);
    type Measure = ();
    fn to_value(&self) -> Option<Value> {
        Parameters::Fifo(*self).to_value()
    }
    fn from_value(value: Value) -> Option<Self> {
        if let Parameters::Fifo(fifo) = Parameters::from_value(value)? { Some(fifo) } else { None }
    }
}
