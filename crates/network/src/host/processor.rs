//! A host's processor: its work for packets and programs takes time, one job after the other.
//!
//! Where only received segments cost time, their effects happen at once and the next segment waits (paper 0). Where
//! sending costs time too, a write's data is in the send buffer once it is copied, a segment leaves once it is
//! made, and received data is read once it is copied (paper 3, figure 2): see [`work`].

mod operation;
mod work;

use std::collections::VecDeque;

use base::setting::{Field, choice, settings};
use base::{Bytes, DropReason, Duration, Instant, PacketId, Rate};

use super::Host;
use crate::context::{Context, Egress};
use crate::observer::{Observer, Place};

use operation::Charge;
pub use operation::{Operation, Times};
pub(super) use work::Pending;
use work::{Job, Waiting};

settings! {
    /// Processing costs of a host. A cost that is not given is the machine's, or zero.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Processor {
        /// Time for each received segment.
        pub per_segment: Duration,
        /// Time for each sent segment.
        pub per_sent: Duration,
        /// Time for each entry of the retransmission queue that an ACK makes the stack walk.
        pub per_walked: Duration,
        /// Maximum number of waiting segments, 300 to 1000 in Linux (netdev_max_backlog). Further segments are
        /// dropped.
        #[range(1..)]
        pub backlog: u32,
        /// Whether a backlog that overflowed accepts no segment until it is empty, as in Linux 2.4 (`netif_rx`).
        pub throttle: bool,
        /// Memory copy bandwidth in bytes per second (lmbench's bcopy); free unless given.
        pub memory_copy: Option<Rate>,
        /// Memory read bandwidth in bytes per second, as for a checksum; free unless given.
        pub memory_read: Option<Rate>,
        /// Memory write bandwidth in bytes per second; free unless given.
        pub memory_write: Option<Rate>,
        /// Whether the processor computes the TCP checksum instead of the interface.
        pub checksum: bool,
        /// Instructions per second, for the TCP and IP instruction counts; free unless given.
        #[range(1..)]
        pub instructions_per_second: Option<u64>,
        /// Instructions of TCP to send a segment (Clark et al. 1989).
        pub tcp_output: u32,
        /// Instructions of TCP to receive a segment with data (Clark et al. 1989).
        pub tcp_input_data: u32,
        /// Instructions of TCP to receive a segment without data, 191 to 213 (Clark et al. 1989).
        pub tcp_input_ack: u32,
        /// Instructions of IP to send a packet (Clark et al. 1989).
        pub ip_output: u32,
        /// Instructions of IP to receive a packet (Clark et al. 1989).
        pub ip_input: u32,
        /// Time for each system call, without the copy.
        pub system_call: Duration,
        /// Bytes that a program moves per system call.
        #[range(Bytes(1)..)]
        pub call_size: Bytes,
        /// Time for each wakeup of a program that waits for data or buffer space.
        pub wakeup: Duration,
        /// Time for each interrupt. Each frame that finds the processor idle interrupts, or, with
        /// `interrupt_interval`, one interrupt serves all frames of an interval.
        pub interrupt: Duration,
        /// Minimum time between two interrupts, as in an interface with interrupt moderation.
        pub interrupt_interval: Duration,
        /// Rate at which an interface reads frames from memory while the processor waits; no wait unless given.
        pub dma_read: Option<Rate>,
        /// Rate at which an interface writes frames to memory while the processor waits; no wait unless given.
        pub dma_write: Option<Rate>,
        /// Rate at which programs process data, as for hashing or encryption, in bytes per second; free unless given.
        pub program_rate: Option<Rate>,
        /// Data path of programs: from file to socket, "copy" makes two copies, "direct" one, "pages" none.
        pub data: DataPath,
    }
}

choice! {
    /// The data path between a program's data and its socket.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DataPath {
        /// A file in memory, copied to the program's buffer and from there to the socket; received data takes the
        /// same path back.
        Copy = "copy",
        /// A file in memory, copied to the socket without a buffer of the program's (paper 3, section 5.2; `sendfile`).
        Direct = "direct",
        /// A file in memory with its pages sent without a copy (modern `sendfile`); received data is copied as with
        /// "direct".
        Pages = "pages",
        /// A file on a disk, which writes it to the program's buffer; received data is copied as with "copy".
        Disk = "disk",
        /// The program's own memory: copied to the socket once, or from it.
        Memory = "memory",
    }
}

/// A processor that takes no time.
impl Default for Processor {
    fn default() -> Self {
        Self::FREE
    }
}

impl Processor {
    /// A processor that takes no time.
    pub const FREE: Self = Self {
        per_segment: Duration::ZERO,
        per_sent: Duration::ZERO,
        per_walked: Duration::ZERO,
        backlog: 1000,
        throttle: false,
        memory_copy: None,
        memory_read: None,
        memory_write: None,
        checksum: true,
        instructions_per_second: None,
        tcp_output: 235,
        tcp_input_data: 186,
        tcp_input_ack: 213,
        ip_output: 61,
        ip_input: 57,
        system_call: Duration::ZERO,
        call_size: Bytes(64 << 10),
        wakeup: Duration::ZERO,
        interrupt: Duration::ZERO,
        interrupt_interval: Duration::ZERO,
        dma_read: None,
        dma_write: None,
        program_rate: None,
        data: DataPath::Copy,
    };

    /// Whether anything besides received segments takes time.
    fn charges_sending(&self) -> bool {
        let times = [self.per_sent, self.system_call, self.wakeup, self.interrupt];
        let rates = [self.memory_copy, self.memory_read, self.memory_write];
        let dma = [self.dma_read, self.dma_write, self.program_rate];
        times.iter().any(|&time| time > Duration::ZERO)
            || rates.iter().chain(&dma).any(Option::is_some)
            || self.instructions_per_second.is_some()
    }
}

/// It is a table of its own in the file.
impl Field for Processor {
    type Measure = ();
}

/// The processor and what waits for it.
#[derive(Debug)]
pub(super) struct Processing {
    config: Processor,
    backlog: VecDeque<PacketId>,
    /// Whether the backlog overflowed and is not yet empty again.
    throttled: bool,
    busy_until: Instant,
    times: Times,
    /// The other waiting work, where sending takes time.
    work: Option<Box<Waiting>>,
}

impl Processing {
    pub(super) fn new(config: Processor) -> Self {
        Self {
            work: config.charges_sending().then(Box::default),
            config,
            backlog: VecDeque::new(),
            throttled: false,
            busy_until: Instant::ZERO,
            times: Times::default(),
        }
    }

    /// The number of packets that wait or are being made.
    pub(super) fn held(&self) -> usize {
        self.backlog.len() + self.segments_made()
    }

    /// The number of segments that are being made.
    fn segments_made(&self) -> usize {
        let made = self.work.as_ref().is_some_and(|work| matches!(work.job, Job::Output { .. }));
        usize::from(made)
    }

    /// Whether writing, reading and sending take processor time.
    pub(super) const fn charges_sending(&self) -> bool {
        self.work.is_some()
    }

    /// Whether its current job is for that connection.
    pub(super) fn works_for(&self, connection: u32) -> bool {
        self.work.as_ref().is_some_and(|work| work.works_for(connection))
    }

    /// The time at which it continues; `NEVER` if nothing waits.
    pub(super) fn next_wakeup(&self) -> Instant {
        let waits = self.work.as_ref().is_some_and(|work| work.waits());
        if self.backlog.is_empty() && !waits { Instant::NEVER } else { self.busy_until }
    }

    /// Charges work that is done at once; later work waits for it.
    fn charge(&mut self, now: Instant, charge: impl FnOnce(&mut Charge<'_>)) {
        let mut made = Charge::new(&self.config, &mut self.times);
        charge(&mut made);
        self.busy_until = self.busy_until.max(now) + made.total;
    }
}

impl Host {
    /// Queues a segment for the processor, or drops it.
    pub(super) fn queue_for_processor<E: Egress, O: Observer>(
        &mut self,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let Some(processing) = &mut self.processing else { return };
        let Processor { backlog, throttle, .. } = processing.config;
        let waiting = processing.backlog.len();
        processing.throttled =
            throttle && waiting > 0 && (processing.throttled || waiting >= backlog as usize);
        if processing.throttled || waiting >= backlog as usize {
            return cx.drop(Place::Node(self.number), packet, DropReason::Backlog);
        }
        processing.backlog.push_back(packet);
        processing.interrupt_if_idle(cx.now);
        self.serve(cx);
    }

    /// Runs the waiting work as far as processor time allows.
    pub(super) fn serve<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        while let Some(processing) = &mut self.processing {
            let at = processing.next_wakeup();
            if at == Instant::NEVER {
                return;
            }
            if at > cx.now {
                return cx.egress.wake(self.number, at);
            }
            if self.finish_job(cx) {
                continue;
            }
            let Some(processing) = &mut self.processing else { return };
            match processing.backlog.pop_front() {
                Some(packet) => self.take_segment(packet, cx),
                None => self.start_job(cx),
            }
        }
    }

    /// Takes a segment. Its effects start now; the next work starts when its time is over.
    fn take_segment<E: Egress, O: Observer>(
        &mut self,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let (payload, length) = (cx.packets[packet].tcp.payload, cx.packets[packet].length);
        let mut walked = 0;
        if let Some((index, work)) = self.deliver(packet, cx) {
            walked = work.walked;
            self.send_pending(index, cx);
        }
        let Some(processing) = &mut self.processing else { return };
        let Processor { per_segment, per_walked, .. } = processing.config;
        let charges_all = processing.charges_sending();
        processing.charge(cx.now, |charge| {
            charge.add(Operation::SegmentReceived, per_segment);
            charge.add(Operation::QueueWalk, per_walked.times(u64::from(walked)));
            if charges_all {
                charge.input(payload, length);
            }
        });
    }

    /// The time that the processor has spent on each operation; `None` without a modelled processor.
    pub fn processor_times(&self) -> Option<Times> {
        let processing = self.processing.as_ref()?;
        let mut times = processing.times;
        let gaps = self.ports.iter().map(|port| port.statistics().gap_bytes).sum();
        times.add(Operation::DmaGaps, operation::gaps(&processing.config, gaps));
        Some(times)
    }

    /// The number of segments that the processor is making: they count as sent, and are in no queue yet.
    pub fn segments_in_processor(&self) -> usize {
        self.processing.as_ref().map_or(0, Processing::segments_made)
    }

    /// The rate of a memory copy with the processor otherwise idle; `None` where it is not modelled.
    pub fn memory_copy(&self) -> Option<Rate> {
        self.processing.as_ref()?.config.memory_copy
    }
}
