//! The send buffer: what the program wrote, up to where it waits for room.
//!
//! Linux's counts memory. A write fills packets of up to the largest burst one after the other
//! (`tcp_sendmsg_locked`), and asks for room only where a packet begins. The program then waits until a third of the
//! memory is free (`sk_stream_write_space`). While it waits, the buffer grows with the window (`tcp_new_space`) whenever
//! that is not full. A burst ends where a packet ends, so this shapes what leaves.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use base::Instant;

use super::Sender;
use crate::config::{Buffer, Config};
use crate::info::Stall;

/// `struct skb_shared_info`, and `struct sk_buff`, in bytes (x86-64).
const SHARED_INFO: u64 = 320;
const SK_BUFF: u64 = 256;
/// A tuned buffer has room for this many segments at least (`TCP_INIT_CWND`).
const SEGMENTS_MIN: u32 = 10;

/// Linux's write queue.
#[derive(Clone, Debug)]
pub(super) struct WriteQueue {
    /// Memory that the buffer may take (`sk_sndbuf`), and the most it grows to.
    size: u64,
    max: u64,
    /// Room for headers in each packet.
    headroom: u64,
    /// The position up to which PSH asks the receiver to pass data on (`pushed_seq`).
    pushed: u64,
    /// Packets that are not completely sent, in order.
    unsent: VecDeque<Written>,
    /// The ends of those that were sent and, when last looked at, not acknowledged.
    sent: VecDeque<u64>,
    /// The program has just filled the buffer, and sends what it may before it waits.
    filled: bool,
}

/// A packet of the write queue: the position after its last byte, and whether that has PSH.
#[derive(Clone, Copy, Debug)]
struct Written {
    end: u64,
    pushed: bool,
}

impl WriteQueue {
    /// Returns whether there is a write queue: for a buffer that counts memory.
    pub(super) const fn is_kept(config: &Config) -> bool {
        config.buffers.send_headroom != 0
    }

    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        if !Self::is_kept(config) {
            return None;
        }
        let (size, max) = match config.buffers.send {
            Buffer::Fixed(bytes) => (bytes, bytes),
            Buffer::Auto { initial, max } => (initial, max),
        };
        let headroom = u64::from(config.buffers.send_headroom);
        let (unsent, sent) = (VecDeque::new(), VecDeque::new());
        Some(Box::new(Self { size, max, headroom, pushed: 0, unsent, sent, filled: false }))
    }

    /// The buffer's size in bytes of memory.
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the memory of a packet beside its data (`SKB_TRUESIZE` of its head, from a cache that no `kmalloc`
    /// has).
    fn overhead(&self) -> u64 {
        let head = self.headroom + SHARED_INFO;
        let head = if head.is_power_of_two() { head + 64 } else { head };
        head + SK_BUFF
    }

    /// Memory taken, from `una` to `written` (`sk_wmem_queued`).
    fn memory(&mut self, una: u64, written: u64) -> u64 {
        while self.sent.front().is_some_and(|&end| end <= una) {
            self.sent.pop_front();
        }
        let packets = (self.sent.len() + self.unsent.len()) as u64;
        written - una + packets * self.overhead()
    }

    /// Extends the last packet up to `end`, with PSH if `pushed`.
    fn extend(&mut self, end: u64, pushed: bool) {
        if let Some(tail) = self.unsent.back_mut() {
            (tail.end, tail.pushed) = (end, tail.pushed || pushed);
        }
        if pushed {
            self.pushed = end;
        }
    }

    /// Extends the first packet up to `end` with data of the second.
    fn fill_first(&mut self, end: u64) {
        let Some(&second) = self.unsent.get(1) else { return };
        let first = &mut self.unsent[0];
        if second.end > end {
            first.end = end;
        } else {
            *first = Written { end: second.end, pushed: first.pushed || second.pushed };
            self.unsent.remove(1);
        }
    }

    /// Where the first packet ends that is not sent in whole, if all that was `written` is.
    fn head_end(&self, written: u64) -> u64 {
        self.unsent.front().map_or(written, |head| head.end)
    }

    /// Grows to twice the memory of `segments`, or three times for an algorithm that controls the rate
    /// (`tcp_sndbuf_expand`).
    fn expand(&mut self, segments: u32, mss: u32, controls: bool) {
        let segment = (u64::from(mss) + self.headroom + SHARED_INFO).next_power_of_two() + SK_BUFF;
        let times = if controls { 3 } else { 2 };
        let want = times * u64::from(segments) * segment;
        self.size = self.size.max(want.min(self.max));
    }
}

impl Sender {
    /// The application hands over up to `bytes`, as many as the send buffer takes.
    pub(crate) fn write(&mut self, bytes: u64, now: Instant) -> u64 {
        let taken = bytes.min(self.writable());
        self.supply(taken, now);
        taken
    }

    /// The application blocks in its write of `bytes` until the send buffer took them all.
    pub(crate) fn supply(&mut self, bytes: u64, now: Instant) {
        if bytes == 0 || self.closing {
            return;
        }
        if self.controls() {
            self.note_app_limit();
        } else if self.board.out() == 0 && self.nxt == self.supplied {
            self.restart_after_idle(now);
        }
        self.supplied = self.supplied.saturating_add(bytes).min(u64::MAX / 2);
        self.fill_buffer();
        self.take_written(false);
        self.allow_sending();
    }

    /// The application gives up its write: what the send buffer has not taken is dropped, and a FIN follows the rest.
    pub(crate) fn abandon_write(&mut self) {
        self.supplied = self.written();
        self.close();
    }

    /// Returns why nothing more would leave, however much time passes: the sender is at rest with something to write,
    /// and no ACK or timer is to come.
    pub(crate) fn stall(&self) -> Option<Stall> {
        let moves = !self.resting || self.stopping;
        if moves || self.board.out() != 0 || self.deadline() != Instant::NEVER {
            return None;
        }
        if self.nxt < self.written() {
            Some(Stall::Data)
        } else if self.nxt < self.supplied || !self.closing && self.writable() == 0 {
            Some(Stall::SendBuffer)
        } else {
            self.has_new_data().then_some(Stall::Fin)
        }
    }

    /// The send buffer took all that was handed over.
    pub(crate) fn is_written(&self) -> bool {
        self.supplied == self.written()
    }

    /// Bytes the send buffer would take.
    pub(crate) fn writable(&self) -> u64 {
        if self.closing || self.policy.queues && self.waits {
            return 0;
        }
        (self.una + self.buffer_size()).saturating_sub(self.supplied)
    }

    /// The send buffer's size, in bytes.
    pub(super) fn buffer_size(&self) -> u64 {
        self.writes.as_ref().map_or(self.buffer, |queue| queue.size())
    }

    /// The connection is established: the buffer has room for two initial windows (`tcp_init_buffer_space`), and the
    /// program writes.
    pub(super) fn open_buffer(&mut self) {
        if let Some(queue) = &mut self.writes {
            queue.pushed = self.una;
        }
        self.expand_buffer();
        self.waits = false;
        self.take_written(false);
    }

    fn expand_buffer(&mut self) {
        let segments = self.sock.cwnd.max(SEGMENTS_MIN).max(self.repair.reordering + 1);
        let (mss, controls) = (self.agreed.mss, self.controls());
        if let Some(queue) = &mut self.writes {
            queue.expand(segments, mss, controls);
        }
    }

    /// A buffer that counts payload has room for more, or more is to be written.
    #[inline]
    pub(super) fn fill_buffer(&mut self) {
        if self.policy.queues {
            return;
        }
        if self.policy.tunes_buffer {
            let want = 2 * u64::from(self.sock.cwnd) * u64::from(self.agreed.mss);
            self.buffer = self.buffer.max(want.min(self.config.buffers.send.max()));
        }
        self.written = self.supplied.min(self.una + self.buffer);
    }

    /// Whether the program is in the middle of a write and does not wait for room.
    #[inline]
    pub(super) const fn is_writing(&self) -> bool {
        self.policy.queues && !self.waits && self.written < self.supplied
    }

    /// Continues the program's write, if it is in one: up to a packet that is full and next to leave, which goes at
    /// once, and beyond it only if that is `stopped` (`tcp_push_one`).
    #[inline]
    pub(super) fn take_written(&mut self, stopped: bool) {
        if self.is_writing() {
            self.fill_packets(stopped);
        }
    }

    #[inline(never)]
    fn fill_packets(&mut self, stopped: bool) {
        let goal = self.packet_max();
        let half = self.peer.max / 2;
        let (una, nxt) = (self.una, self.nxt);
        let Some(queue) = &mut self.writes else { return };
        // A piece that is about to leave in several segments counts as gone from the packet.
        let left = queue.sent.back().map_or(nxt, |&end| end.clamp(nxt, self.written));
        while self.written < self.supplied {
            let packets = queue.unsent.len();
            let start = packets.checked_sub(2).map_or(left, |before| queue.unsent[before].end);
            let mut room = goal.saturating_sub(self.written - start);
            if packets == 0 || room == 0 {
                if packets == 1 && !stopped {
                    break;
                }
                if queue.memory(una, self.written) >= queue.size {
                    (self.waits, queue.filled) = (true, true);
                    break;
                }
                queue.unsent.push_back(Written { end: self.written, pushed: false });
                room = goal;
            }
            self.written += room.min(self.supplied - self.written);
            queue.extend(self.written, self.written > queue.pushed + half);
        }
        if self.waits || self.written == self.supplied {
            queue.extend(self.written, true);
        }
        self.burst.buffer_end = queue.head_end(self.written);
    }

    /// Nothing leaves now. Returns whether the program's write then gives more to send.
    #[inline]
    pub(crate) fn takes_more(&mut self) -> bool {
        self.policy.queues && self.written < self.supplied && self.look_for_room()
    }

    #[inline(never)]
    fn look_for_room(&mut self) -> bool {
        let before = self.written;
        let waited = self.waits;
        if waited {
            self.waits = !self.has_room();
        }
        self.take_written(!waited);
        let more = self.written > before;
        if more {
            self.allow_sending();
        }
        more
    }

    /// Whether a program that waits for room continues to write.
    fn has_room(&mut self) -> bool {
        let (una, written) = (self.una, self.written);
        let filled = self.writes.as_mut().is_some_and(|queue| core::mem::take(&mut queue.filled));
        if !filled && self.in_flight() < self.sock.cwnd {
            self.expand_buffer();
        }
        let Some(queue) = &mut self.writes else { return false };
        let memory = queue.memory(una, written);
        let free = queue.size.saturating_sub(memory);
        // What it sent itself may have made the buffer grow: it does not begin to wait (`sk_stream_wait_memory`).
        if filled { free > 0 } else { free >= (memory / 2).max(1) }
    }

    /// Fills the first packet up to `bytes` bytes from the one behind it, before as many leave (Linux's `tcp_grow_skb`,
    /// since 6.10).
    #[inline]
    pub(super) fn fill_first_packet(&mut self, bytes: u64) {
        let end = self.nxt + bytes;
        if end > self.burst.buffer_end
            && let Some(queue) = &mut self.writes
        {
            queue.fill_first(end);
            self.burst.buffer_end = queue.head_end(self.written);
        }
    }

    /// New data up to `end` leaves in one piece. Where the window has room for more after it, the buffer grows, also
    /// in the middle of what one ACK lets go (Linux's `tcp_event_new_data_sent`, since 5.18).
    #[inline]
    pub(super) fn piece_leaves(&mut self, end: u64) {
        let Some(queue) = &mut self.writes else { return };
        queue.sent.push_back(end);
        if self.waits {
            let segments = (end - self.nxt).div_ceil(self.agreed.mss.into());
            if u64::from(self.in_flight()) + segments < self.sock.cwnd.into() {
                self.expand_buffer();
            }
        }
    }

    /// New data up to `end` was sent, where a write or a packet of it ends. Returns whether it has PSH.
    #[inline(never)]
    pub(super) fn packet_ended(&mut self, end: u64) -> bool {
        let Some(queue) = &mut self.writes else {
            self.burst.buffer_end = end;
            return true;
        };
        let mut pushed = false;
        while let Some(head) = queue.unsent.front().filter(|head| head.end <= end) {
            pushed = head.pushed;
            queue.unsent.pop_front();
        }
        self.burst.buffer_end = queue.head_end(self.written);
        pushed
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::Profile;
    use crate::sender::Agreed;

    /// An established sender of Linux' profile.
    fn sender() -> Sender {
        let config = Profile::by_name("linux-6").unwrap().config();
        let mut sender = Sender::new(&config, 1);
        let agreed =
            Agreed { mss: 1_448, sack: true, timestamps: true, ecn: false, window_shift: 7 };
        sender.establish(agreed, 65_535, 1, Instant::ZERO);
        sender
    }

    /// Polls until nothing leaves; how many segments left.
    fn poll(sender: &mut Sender) -> usize {
        let mut sent = 0;
        loop {
            match sender.next(Instant::ZERO) {
                Some(_) => sent += 1,
                None if sender.takes_more() => {}
                None => return sent,
            }
        }
    }

    #[test]
    fn a_short_first_packet_is_filled_from_the_second_one_only() {
        let mut sender = sender();
        let queue = sender.writes.as_mut().unwrap();
        let ends = |queue: &WriteQueue| queue.unsent.iter().map(|own| own.end).collect::<Vec<_>>();
        let written = |end, pushed| Written { end, pushed };
        queue.unsent = [written(1, true), written(29, false), written(58, false)].into();
        queue.fill_first(2);
        assert_eq!(ends(queue), [2, 29, 58]);
        assert!(queue.unsent[0].pushed && !queue.unsent[1].pushed);
        queue.fill_first(40);
        assert_eq!(ends(queue), [29, 58]);
        assert!(queue.unsent[0].pushed, "what the first one has stays");
        queue.unsent.pop_back();
        queue.fill_first(40);
        assert_eq!(ends(queue), [29], "there is no second one");
    }

    #[test]
    fn the_buffer_grows_between_the_pieces_that_one_ack_lets_go() {
        let mut sender = sender();
        sender.waits = true;
        sender.sock.cwnd = 40;
        let size = sender.buffer_size();
        let piece = |segments: u64| sender.nxt + segments * 1_448;
        let [whole, half] = [piece(40), piece(38)];
        sender.piece_leaves(whole);
        assert_eq!(sender.buffer_size(), size, "the window is full");
        sender.piece_leaves(half);
        // By `ss` in Linux 6.12: `tb` is 348160 after the first round trips.
        assert_eq!(sender.buffer_size(), 348_160);
    }

    #[test]
    fn a_sender_at_rest_with_data_and_nothing_to_come_is_stalled() {
        let mut sender = sender();
        poll(&mut sender);
        assert_eq!(sender.stall(), None, "nothing to send");
        // Packets that are never acknowledged take all of the memory.
        let queue = sender.writes.as_mut().unwrap();
        queue.sent.extend([u64::MAX; 10_000]);
        sender.supply(1, Instant::ZERO);
        assert_eq!(sender.stall(), None, "it was not polled yet");
        assert_eq!(poll(&mut sender), 0);
        assert_eq!(sender.stall(), Some(Stall::SendBuffer));
    }

    #[test]
    fn who_waits_for_an_ack_or_a_window_is_not_stalled() {
        let mut waiting = sender();
        waiting.supply(1_000_000, Instant::ZERO);
        assert_ne!(poll(&mut waiting), 0);
        assert_eq!(waiting.stall(), None, "packets are in flight");
        let mut closed = sender();
        closed.peer.end = closed.una;
        closed.supply(1, Instant::ZERO);
        assert_eq!(poll(&mut closed), 0);
        assert_eq!(closed.stall(), None, "a probe of the window is due");
    }
}
