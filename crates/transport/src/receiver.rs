//! The receiving half of a connection: reassembly, acknowledging, the window it advertises.

mod content;
mod delayed;
mod memory;
mod reading;
mod reassembly;
mod snapshot;
mod tuning;
mod window;

use base::packet::{SackBlock, Tcp, flags};
use base::{Duration, Instant};

use crate::config::Config;
use crate::sender::Echo;
use crate::seq::{ORIGIN, SequenceSpace};
pub(crate) use content::AckContent;
use delayed::DelayedAck;
use memory::Memory;
use reassembly::Reassembly;
use tuning::Tuning;

/// Bytes of options that a header takes (RFC 9293, section 3.1).
const OPTIONS_MAX: u32 = 40;

/// The counters of the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiverStatistics {
    pub(crate) segments: u64,
    pub(crate) bytes_duplicate: u64,
    pub(crate) dsacks: u64,
    pub(crate) marks: u64,
}

/// The receiver. The fields that every segment in order uses come first and together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Next position expected.
    pub(crate) nxt: u64,
    /// Next position that the application reads.
    read: u64,
    /// The right edge of the window that was advertised, and the acknowledgement sent with it.
    edge: u64,
    acked: u64,
    space: SequenceSpace,
    mss: u32,
    /// The timestamp to echo (RFC 7323, section 4.3).
    pub(crate) ts_recent: u32,
    window_shift: u8,
    /// The application reads whatever arrives, at once.
    reads_always: bool,
    sack: bool,
    dsack_allowed: bool,
    timestamps: bool,
    ecn: bool,
    /// A mark is echoed until the peer says it reduced (RFC 3168, section 6.1.3).
    echoing: bool,
    /// The number that the next ACK acknowledges, and whether it echoes a mark, if that ACK was delayed and later
    /// data has the other marking.
    prior: Option<(u64, bool)>,
    /// How the next ACK differs from the last one, timestamps aside.
    ack_content: AckContent,
    /// When the application read last.
    read_at: Instant,
    delayed: DelayedAck,
    tuning: Tuning,
    reassembly: Reassembly,
    memory: Memory,
    /// A duplicate to report with the next ACK.
    dsack: Option<(u64, u64)>,
    /// An application that reads whatever arrives does so after the next ACK: the time of the segment.
    reads_after_ack: Option<Instant>,
    /// The round trip as this end's own data, or its SYN, measured it; zero before.
    round_trip: Duration,
    /// Position of the peer's FIN.
    fin: Option<u64>,
    pub(crate) stats: ReceiverStatistics,
}

/// The result of the handshake, for the receiving half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    pub(crate) initial: u32,
    pub(crate) mss: u32,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    pub(crate) ecn: bool,
    /// Shift of the windows this end advertises.
    pub(crate) window_shift: u8,
}

impl Receiver {
    /// A receiver before its peer's SYN.
    pub(crate) fn new(config: &Config) -> Self {
        let start = ORIGIN + 1;
        let tuning = Tuning::new(config);
        Self {
            space: SequenceSpace::default(),
            nxt: start,
            read: start,
            read_at: Instant::ZERO,
            reads_always: false,
            reads_after_ack: None,
            edge: start + tuning.window(),
            acked: start,
            window_shift: 0,
            mss: config.payload_max(false),
            sack: false,
            dsack_allowed: config.segment.dsack,
            timestamps: false,
            ecn: false,
            reassembly: Reassembly::default(),
            memory: Memory::default(),
            dsack: None,
            round_trip: Duration::ZERO,
            fin: None,
            ts_recent: 0,
            echoing: false,
            prior: None,
            ack_content: AckContent::Any,
            delayed: DelayedAck::new(&config.ack),
            tuning,
            stats: ReceiverStatistics::default(),
        }
    }

    /// The largest window that the configured buffer may ever give.
    pub(crate) fn window_max(config: &Config) -> u64 {
        Tuning::window_max(config)
    }

    /// The peer's SYN arrived.
    pub(crate) fn establish(&mut self, accepted: Accepted, now: Instant) {
        self.space = SequenceSpace::new(accepted.initial);
        (self.mss, self.window_shift) = (accepted.mss, accepted.window_shift);
        (self.sack, self.timestamps) = (accepted.sack, accepted.timestamps);
        self.ecn = accepted.ecn;
        self.tuning.establish(self.nxt, accepted.mss, now);
        self.memory = Memory::new(self.tuning.frame(), accepted.mss);
        self.delayed.start(self.tuning.window(), accepted.mss);
    }

    /// Notes the path as measured with this end's own data: its round trip, zero while unknown, and its
    /// retransmission timeout.
    #[inline]
    pub(crate) fn note_path(&mut self, round_trip: Duration, timeout: Duration) {
        self.round_trip = round_trip;
        self.delayed.timeout = timeout;
    }

    /// Header prediction where data is sent. Accepts a pure, unmarked ACK that starts where the peer's data ended,
    /// with all of that data acknowledged: it brings only its timestamp. Otherwise returns false and changes nothing.
    #[inline]
    pub(crate) fn on_predicted_ack(&mut self, tcp: &Tcp) -> bool {
        tcp.seq == self.space.wire(self.nxt) && self.nxt == self.acked && self.keep_timestamp(tcp)
    }

    /// Header prediction where data comes in. Accepts the next segment, unmarked, with nothing out of order and room
    /// in the window. Otherwise returns false and changes nothing.
    #[inline]
    pub(crate) fn on_predicted_data(&mut self, tcp: &Tcp, now: Instant) -> bool {
        let end = self.nxt + u64::from(tcp.payload);
        if tcp.seq != self.space.wire(self.nxt)
            || !self.reassembly.is_empty()
            || end > self.edge
            || !self.keep_timestamp(tcp)
        {
            return false;
        }
        self.stats.segments += 1;
        self.nxt = end;
        self.in_order(u64::from(tcp.payload), tcp, now);
        true
    }

    /// Keeps the timestamp of the expected segment for the echo, unless an earlier segment still waits for its ACK
    /// (RFC 7323, section 4.3). Returns false for a segment that is older than the last one.
    #[inline]
    fn keep_timestamp(&mut self, tcp: &Tcp) -> bool {
        if self.timestamps && tcp.has_timestamps {
            if (tcp.ts_val.wrapping_sub(self.ts_recent) as i32) < 0 {
                return false;
            }
            if self.nxt == self.acked {
                self.ts_recent = tcp.ts_val;
            }
        }
        true
    }

    /// Handles a segment; `marked` is its CE mark, `closed` says that this end sent its FIN. Returns false if the
    /// segment was not acceptable.
    pub(crate) fn on_segment(
        &mut self,
        tcp: &Tcp,
        marked: bool,
        closed: bool,
        now: Instant,
    ) -> bool {
        self.ack_content = AckContent::Any;
        let start = self.space.unwrap(tcp.seq, self.nxt);
        let mut fin = tcp.flags & flags::FIN != 0;
        let mut end = start + u64::from(tcp.payload) + u64::from(fin);
        if self.timestamps && tcp.has_timestamps {
            let age = tcp.ts_val.wrapping_sub(self.ts_recent) as i32;
            if age < -1 && self.ts_recent != 0 {
                // RFC 7323, section 5.3: an old duplicate from before the sequence space wrapped.
                self.delayed.now();
                return false;
            }
            if start <= self.acked && age >= 0 {
                self.ts_recent = tcp.ts_val;
            }
        }
        if self.ecn {
            self.on_marks(tcp, marked);
        }
        if end == start {
            // A probe below the window needs an answer.
            if start < self.acked {
                self.delayed.now();
            }
            return start <= self.edge;
        }
        self.stats.segments += 1;
        if end > self.edge && start < self.edge {
            // RFC 9293, section 3.10.7.4: trimmed to the window, FIN and all.
            (end, fin) = (self.edge, false);
            self.delayed.now();
        }
        if fin {
            self.fin.get_or_insert(end - 1);
        }
        if start == self.nxt && self.reassembly.is_empty() && end <= self.edge {
            self.advance(end, closed);
            self.in_order(end - start, tcp, now);
            return true;
        }
        self.out_of_line((start, end), closed, tcp, now)
    }

    /// Advances to `end`, as all data up to there has arrived. If that includes the peer's FIN, an end that has
    /// closed already acknowledges at once. Any other end delays the ACK: its application is about to close, and its
    /// FIN will carry the ACK. A duplicate before it is not reported (Linux's `tcp_fin`).
    #[inline]
    fn advance(&mut self, end: u64, closed: bool) {
        self.nxt = end;
        if !self.is_finished() {
            return;
        }
        self.dsack = None;
        if closed {
            self.delayed.now();
        } else {
            self.delayed.expect_reply();
        }
    }

    /// Bytes arrived in order.
    #[inline]
    fn in_order(&mut self, bytes: u64, tcp: &Tcp, now: Instant) {
        self.ack_content = self.ack_content.max(AckContent::Progress);
        if self.tuning.is_on(tcp.payload) || !self.delayed.is_off() {
            return self.in_order_any(bytes, tcp, now);
        }
        if self.reads_always {
            (self.read, self.read_at) = (self.nxt, now);
        }
        self.delayed.now();
    }

    /// Handles bytes in order where the buffer is tuned, the window opens or ACKs are delayed.
    #[inline(never)]
    fn in_order_any(&mut self, bytes: u64, tcp: &Tcp, now: Instant) {
        if !self.reads_always && self.tuning.counts_memory() {
            self.memory.arrive(bytes, self.nxt);
        }
        if tcp.payload != 0 {
            self.tuning.measure(tcp.payload);
            self.tuning.on_data(bytes, tcp, self.mss, now);
            self.delayed.arrive(tcp.payload >= self.mss, tcp.flags & flags::PSH != 0, now);
            self.open(tcp.payload);
        }
        if self.delayed.is_off() {
            self.delayed.now();
        } else {
            let enough = self.nxt - self.acked > self.delayed.unacked_max(self.mss)
                && (self.reads_always || self.window_moves());
            self.delayed.on_data(enough, self.round_trip, now);
            if self.delayed.is_quick() {
                self.ack_content = AckContent::Any;
            }
        }
        if self.reads_always {
            self.read(u64::MAX, now);
        }
    }

    /// Handles a segment that is old, out of order, beyond the window, or fills a hole.
    #[cold]
    #[inline(never)]
    fn out_of_line(
        &mut self,
        (start, end): (u64, u64),
        closed: bool,
        tcp: &Tcp,
        now: Instant,
    ) -> bool {
        if end <= self.nxt || end > self.edge {
            self.delayed.now();
            if end <= self.nxt {
                self.duplicate(start, end);
                self.delayed.on_duplicate();
            }
            return false;
        }
        if start > self.nxt {
            if self.reassembly.spreads(start, end) {
                self.delayed.on_spread();
            }
            if let Some((from, to)) = self.reassembly.insert(start, end) {
                self.duplicate(from, to);
            }
            if self.sack {
                // Linux's `tcp_data_queue_ofo`: not without SACK, where an ACK with a changed window does not count
                // as a duplicate.
                self.open(tcp.payload);
            }
            self.acknowledge_disorder(now);
            return true;
        }
        if start < self.nxt {
            self.duplicate(start, self.nxt);
        }
        self.note_filled_over(end);
        let before = self.nxt;
        let filled = self.reassembly.fill(self.nxt, end);
        self.advance(filled, closed);
        // The stack acknowledges before the program reads all of this, so that the window is less by its memory.
        let reads = self.defer_reading();
        self.in_order(self.nxt - before, tcp, now);
        self.acknowledge_disorder(now);
        if reads {
            self.reads_always = true;
            if self.delayed.is_due() && !self.is_finished() {
                self.reads_after_ack = Some(now);
            } else {
                self.read(u64::MAX, now);
            }
        }
        true
    }

    /// Data arrived while other data is, or was until now, out of order. An ACK goes out at once if all holes are
    /// filled (RFC 5681, section 4.2), if more than a segment came in order, or if the sender has no SACK.
    fn acknowledge_disorder(&mut self, now: Instant) {
        let filled = self.reassembly.is_empty();
        let advanced = self.nxt - self.acked > u64::from(self.mss);
        if filled || !self.sack || advanced && self.window_moves() {
            return self.delayed.now();
        }
        let round_trip = self.tuning.round_trip(self.round_trip);
        self.delayed.on_disorder(self.nxt, round_trip, now);
    }

    fn duplicate(&mut self, start: u64, end: u64) {
        self.stats.bytes_duplicate += end - start;
        if self.sack && self.dsack_allowed {
            self.dsack = Some((start, end));
        }
    }

    /// A segment in order ends at `end` and repeats data that is held before that. The first such range is reported,
    /// unless the segment began with a duplicate (Linux's `tcp_ofo_queue`).
    fn note_filled_over(&mut self, end: u64) {
        let mut first = None;
        for (start, stop) in self.reassembly.below(end) {
            self.stats.bytes_duplicate += stop - start;
            first = first.or(Some((start, stop)));
        }
        if self.sack && self.dsack_allowed {
            self.dsack = self.dsack.or(first);
        }
    }

    fn on_marks(&mut self, tcp: &Tcp, marked: bool) {
        if tcp.flags & flags::CWR != 0 {
            self.echoing = false;
        }
        if marked {
            self.on_mark();
        }
    }

    fn on_mark(&mut self) {
        self.stats.marks += 1;
        if !self.echoing {
            self.delayed.on_mark();
        }
        self.echoing = true;
    }

    /// Whether an ACK is due, or delayed.
    pub(crate) fn ack_waits(&self) -> bool {
        self.delayed.waits()
    }

    /// The next number expected, and whether ACKs echo a mark.
    pub(crate) fn expected(&self) -> (u32, bool) {
        (self.space.wire(self.nxt), self.echoing)
    }

    /// Applies how the algorithm wants a segment's mark to be echoed. `waited` is whether an ACK was due or delayed
    /// before the segment.
    pub(crate) fn on_reported_mark(&mut self, marked: bool, echo: Echo, waited: bool) {
        self.echoing = echo.ce;
        self.ack_content = AckContent::Any;
        if let Some(prior) = echo.prior {
            if waited && self.prior.is_none() {
                let prior = self.space.unwrap(prior, self.nxt).clamp(self.acked, self.nxt);
                self.prior = Some((prior, !echo.ce));
            }
            self.delayed.now();
        }
        if marked {
            self.on_mark();
        }
    }

    /// Whether an ACK must go now.
    #[inline]
    pub(crate) const fn ack_is_due(&self) -> bool {
        self.delayed.is_due()
    }

    /// Forces an ACK.
    pub(crate) fn ack_now(&mut self) {
        self.ack_content = AckContent::Any;
        self.delayed.now();
    }

    /// When the delayed ACK's time is up.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.delayed.deadline()
    }

    /// Its time may be up.
    pub(crate) fn wake(&mut self, now: Instant) {
        self.ack_content = AckContent::Any;
        self.delayed.wake(now);
    }

    /// This end sends data of its own.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        self.delayed.on_data_sent(now);
    }

    /// Returns how the next ACK differs from the last one.
    #[inline]
    pub(crate) const fn ack_content(&self) -> AckContent {
        self.ack_content
    }

    /// Returns the number and window to acknowledge with; the ACK counts as sent.
    #[inline]
    pub(crate) fn acknowledge(&mut self) -> (u32, u16) {
        self.advance_edge();
        self.acked = self.nxt;
        self.delayed.sent();
        self.ack_content = AckContent::None;
        let window = (self.edge - self.nxt) >> self.window_shift;
        (self.space.wire(self.nxt), window.min(65_535) as u16)
    }

    /// Writes the acknowledgement into `tcp`, for a segment with `payload`: number, window, echo and as many SACK
    /// blocks as fit into the options. Returns the option bytes of the SACK blocks.
    #[inline(never)]
    pub(crate) fn acknowledge_any(&mut self, tcp: &mut Tcp, payload: u32) -> u32 {
        if let Some((prior, echo)) = self.prior.take() {
            return self.acknowledge_prior(tcp, prior, echo);
        }
        (tcp.ack, tcp.window) = self.acknowledge();
        tcp.flags = if self.echoing { flags::ACK | flags::ECE } else { flags::ACK };
        tcp.sack_len = 0;
        self.delayed.sent_quickly();
        let blocks = if self.reassembly.is_empty() && self.dsack.is_none() {
            0
        } else {
            self.write_blocks(tcp, OPTIONS_MAX.min(self.mss.saturating_sub(payload)))
        };
        // The next segment does not repeat a block that was reported, and it reports a duplicate that had no room
        // here.
        let blocks_change = blocks != 0 || self.dsack.is_some() || !self.reassembly.is_empty();
        if self.echoing || blocks_change || self.delayed.is_quick() {
            self.ack_content = AckContent::Any;
        }
        if let Some(now) = self.reads_after_ack.take() {
            self.read(u64::MAX, now);
        }
        blocks
    }

    /// Writes an ACK up to `prior`; the one that is due stays due.
    #[cold]
    fn acknowledge_prior(&mut self, tcp: &mut Tcp, prior: u64, echo: bool) -> u32 {
        let window = (self.edge - prior) >> self.window_shift;
        (tcp.ack, tcp.window) = (self.space.wire(prior), window.min(65_535) as u16);
        tcp.flags = if echo { flags::ACK | flags::ECE } else { flags::ACK };
        tcp.sack_len = 0;
        self.acked = prior;
        self.delayed.sent_quickly();
        0
    }

    /// RFC 2018, section 4 and RFC 2883: the duplicate first, then the block with the newest
    /// segment, then others, most recent first. Three fit beside timestamps.
    #[cold]
    fn write_blocks(&mut self, tcp: &mut Tcp, room: u32) -> u32 {
        if !self.sack {
            self.dsack = None;
            return 0;
        }
        let fit = (room.saturating_sub(4) / 8) as usize;
        let most = fit.min(if self.timestamps { 3 } else { 4 });
        let mut count = 0;
        if let Some(block) = self.dsack.take_if(|_| most > 0) {
            tcp.sack[0] = self.block(block);
            self.stats.dsacks += 1;
            count = 1;
        }
        for &recent in self.reassembly.recent() {
            if count == most {
                break;
            }
            tcp.sack[count] = self.block(recent);
            count += 1;
        }
        tcp.sack_len = count as u8;
        if count == 0 { 0 } else { 4 + 8 * count as u32 }
    }

    fn block(&self, (start, end): (u64, u64)) -> SackBlock {
        SackBlock { start: self.space.wire(start), end: self.space.wire(end) }
    }

    /// Returns the window for a SYN: whole segments of `mss` bytes (Linux's `tcp_select_initial_window`). It is never
    /// scaled, so it may be less than the buffer has room for.
    pub(crate) fn syn_window(&mut self, mss: u32) -> u16 {
        let whole = self.tuning.start(mss);
        self.edge = self.nxt + whole;
        whole.min(65_535) as u16
    }

    /// The peer's FIN arrived in order.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// Payload bytes received in order.
    pub(crate) fn bytes(&self) -> u64 {
        self.nxt - ORIGIN - 1 - u64::from(self.is_finished())
    }
}
