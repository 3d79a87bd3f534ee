//! The work of a processor besides receiving segments: copies for programs, and sending segments. It does one job
//! at a time, in this order: received segments, segments to send, programs.

use std::collections::VecDeque;

use base::{Duration, Instant, PacketId};

use super::operation::{Charge, Operation};
use super::{Processing, Processor};
use crate::behaviour::Behaviour;
use crate::context::{Context, Egress};
use crate::host::{Endpoint, Host};
use crate::observer::Observer;
use crate::port::Offered;

/// The send buffer space in bytes at which a waiting program continues (4.4BSD's `sb_lowat`, `MCLBYTES`).
const LOW_WATER: u64 = 2048;

/// The remaining work of a program on a connection, where that takes time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::host) struct Pending {
    /// Bytes written by the program and not copied yet, `u64::MAX` for unlimited data.
    pub(in crate::host) to_write: u64,
    /// Whether it closes once all of that is copied.
    pub(in crate::host) closes: bool,
    /// Whether it reads all data as it arrives.
    reads: bool,
    /// Bytes that it has read since the last charge for reading.
    pub(in crate::host) unpaid: u64,
    /// Bytes that its system call still has to move.
    call_left: u64,
    /// Whether it waits for space or data, and has to be woken.
    sleeps: bool,
    /// Whether it is listed to continue when the processor is free.
    listed: bool,
    /// Whether the connection is listed to send.
    sends: bool,
}

impl Pending {
    /// Makes the program wait for data and read all of it from now on.
    pub(in crate::host) const fn read_always(&mut self) {
        (self.reads, self.sleeps) = (true, true);
    }

    /// Whether its program reads data as it arrives, without events.
    pub(in crate::host) const fn reads(&self) -> bool {
        self.reads
    }

    /// Whether the processor still has work listed for it.
    pub(in crate::host) const fn is_listed(&self) -> bool {
        self.listed || self.sends
    }
}

/// The current job of the processor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Job {
    /// No job, or one without a follow-up when its time is over.
    #[default]
    None,
    /// It makes a segment.
    Output { index: u32, packet: PacketId },
    /// It copies `bytes` to a send buffer.
    Write { index: u32, bytes: u64 },
    /// It copies `bytes` from a receive buffer.
    Read { index: u32, bytes: u64 },
}

/// The work that waits for the processor besides received segments.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) job: Job,
    /// Connections that may have something to send.
    sends: VecDeque<u32>,
    /// Connections with data for their programs to copy.
    programs: VecDeque<u32>,
    /// The time of the last or the scheduled interrupt.
    interrupt_at: Instant,
    /// The earliest time of the next interrupt.
    interrupt_after: Instant,
}

impl Waiting {
    pub(super) fn waits(&self) -> bool {
        let idle = matches!(self.job, Job::None);
        !idle || !self.sends.is_empty() || !self.programs.is_empty()
    }

    /// Whether the current job is for that connection.
    pub(super) fn works_for(&self, connection: u32) -> bool {
        match self.job {
            Job::None => false,
            Job::Output { index, .. } | Job::Write { index, .. } | Job::Read { index, .. } => {
                index == connection
            }
        }
    }
}

impl Endpoint {
    /// Whether its program can continue.
    fn can_go_on(&self) -> bool {
        let Some(pending) = &self.pending else { return false };
        pending.reads && self.connection.readable() > 0
            || pending.to_write > 0 && self.room(pending.to_write) > 0
    }

    /// The number of bytes, out of `to_write`, that the program may copy now.
    fn room(&self, to_write: u64) -> u64 {
        let room = self.connection.writable();
        if room < LOW_WATER.min(to_write) { 0 } else { room.min(to_write) }
    }
}

impl Processing {
    /// Handles the arrival of a frame. The interface raises an interrupt now or as soon as moderation allows,
    /// unless one is already scheduled or the processor is already taking frames.
    pub(super) fn interrupt_if_idle(&mut self, now: Instant) {
        let Processor { interrupt, interrupt_interval, .. } = self.config;
        let moderated = interrupt_interval > Duration::ZERO;
        let busy = self.busy_until > now;
        let Some(work) = &mut self.work else { return };
        if if moderated { work.interrupt_at > now } else { busy } {
            return;
        }
        work.interrupt_at = now.max(work.interrupt_after);
        work.interrupt_after = work.interrupt_at + interrupt_interval;
        self.charge(now, |charge| charge.add(Operation::Interrupt, interrupt));
    }
}

impl Host {
    /// Lists a connection that may have data to send, or data for its program to copy: both wait for the processor.
    pub(in crate::host) fn list<E: Egress, O: Observer>(
        &mut self,
        index: u32,
        cx: &mut Context<'_, E, O>,
    ) {
        let endpoint = &mut self.endpoints[index as usize];
        let goes_on = endpoint.can_go_on();
        let Some(Processing { work: Some(work), busy_until, .. }) = &mut self.processing else {
            return;
        };
        let Some(pending) = &mut endpoint.pending else { return };
        if !pending.sends {
            pending.sends = true;
            work.sends.push_back(index);
        }
        if goes_on && !pending.listed {
            pending.listed = true;
            work.programs.push_back(index);
        }
        let unpaid = std::mem::take(&mut pending.unpaid);
        let at = (*busy_until).max(cx.now);
        if unpaid > 0 {
            self.pay(cx.now, |charge| charge.read(unpaid));
        }
        cx.egress.wake(self.number, at);
    }

    /// Charges work that was done at once.
    fn pay(&mut self, now: Instant, charge: impl FnOnce(&mut Charge<'_>)) {
        if let Some(processing) = &mut self.processing {
            processing.charge(now, charge);
        }
    }

    /// Charges the output of a packet without a connection, at the cost of a segment.
    pub(in crate::host) fn pay_for_packet(&mut self, payload: u32, length: u32, now: Instant) {
        if self.processing.as_ref().is_some_and(Processing::charges_sending) {
            self.pay(now, |charge| charge.output(payload, length));
        }
    }

    /// Ends the processor's current job. Returns whether there was a job with a follow-up.
    pub(super) fn finish_job<E: Egress, O: Observer>(
        &mut self,
        cx: &mut Context<'_, E, O>,
    ) -> bool {
        let Some(Processing { work: Some(work), .. }) = &mut self.processing else { return false };
        match std::mem::take(&mut work.job) {
            Job::None => return false,
            Job::Output { index, packet } => self.offer_segment(index, packet, cx),
            Job::Write { index, bytes } => self.finish_write(index, bytes, cx),
            Job::Read { index, bytes } => {
                let connection = &mut self.endpoints[index as usize].connection;
                connection.read(bytes, cx.now);
                if connection.is_receive_finished() {
                    self.deliver_events(index, false, cx);
                }
                self.go_on(index, cx);
            }
        }
        true
    }

    /// Continues a program after a copy, or puts it to sleep.
    fn go_on<E: Egress, O: Observer>(&mut self, index: u32, cx: &mut Context<'_, E, O>) {
        let endpoint = &mut self.endpoints[index as usize];
        let sleeps = !endpoint.can_go_on();
        if let Some(pending) = &mut endpoint.pending {
            pending.sleeps = sleeps;
        }
        self.list(index, cx);
    }

    fn finish_write<E: Egress, O: Observer>(
        &mut self,
        index: u32,
        bytes: u64,
        cx: &mut Context<'_, E, O>,
    ) {
        let endpoint = &mut self.endpoints[index as usize];
        let Some(pending) = &mut endpoint.pending else { return };
        // A program that abandoned its write meanwhile has closed: the connection takes no more data.
        let bytes = bytes.min(pending.to_write);
        if pending.to_write != u64::MAX {
            pending.to_write -= bytes;
        }
        let closes = pending.to_write == 0 && std::mem::take(&mut pending.closes);
        endpoint.connection.supply(bytes, cx.now);
        if closes {
            endpoint.connection.close(cx.now);
        }
        self.go_on(index, cx);
        if self.endpoints[index as usize].is_writable_due() {
            self.deliver_events(index, false, cx);
        }
    }

    /// Offers a finished segment to its interface.
    fn offer_segment<E: Egress, O: Observer>(
        &mut self,
        index: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let port = self.endpoints[index as usize].port;
        let (out, credits) = self.custody(port);
        let id = out.id();
        let mut credits = credits.offering(index, packet, &cx.packets[packet]);
        let offered = out.offer(packet, &mut credits, cx);
        let congested = credits.congested;
        let connection = &mut self.endpoints[index as usize].connection;
        if congested {
            connection.displaced(cx.now);
        }
        match offered {
            Offered::Sent | Offered::Queued => {}
            Offered::Ready => {
                let next = self.transmit(port, cx);
                cx.egress.resume(id, next);
            }
            Offered::Refused => {
                connection.refused(&cx.packets[packet], cx.now);
                cx.packets.release(packet);
                return;
            }
        }
        self.list(index, cx);
    }

    /// Starts the next job of a free processor without waiting segments: makes the next segment that may leave, or
    /// copies for a program.
    pub(super) fn start_job<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        let Some(Processing { work: Some(work), .. }) = &mut self.processing else { return };
        if let Some(index) = work.sends.pop_front() {
            return self.make_segment(index, cx);
        }
        if let Some(index) = work.programs.pop_front() {
            self.run_program(index, cx);
        }
    }

    /// Starts the next segment of a connection, if it may send one.
    fn make_segment<E: Egress, O: Observer>(&mut self, index: u32, cx: &mut Context<'_, E, O>) {
        let endpoint = &mut self.endpoints[index as usize];
        if let Some(pending) = &mut endpoint.pending {
            pending.sends = false;
        }
        endpoint.throttled = endpoint.queued >= endpoint.connection.small_queue_limit();
        if endpoint.throttled {
            endpoint.connection.held_back(cx.now);
        } else if endpoint.connection.may_transmit(cx.now) {
            let packet = cx.packets.alloc();
            if endpoint.connection.poll_transmit(cx.now, &mut cx.packets[packet]) {
                let (payload, length) = (cx.packets[packet].tcp.payload, cx.packets[packet].length);
                self.begin(Job::Output { index, packet }, cx, |charge| {
                    charge.output(payload, length);
                });
            } else {
                cx.packets.release(packet);
            }
        }
        let endpoint = &self.endpoints[index as usize];
        let at = endpoint.connection.next_wakeup();
        if at < endpoint.wakeup {
            self.arm(index, at, cx);
        }
    }

    /// Starts the next copy of a program: received data before data to send.
    fn run_program<E: Egress, O: Observer>(&mut self, index: u32, cx: &mut Context<'_, E, O>) {
        let Some(processing) = &self.processing else { return };
        let Processor { wakeup, call_size, .. } = processing.config;
        let endpoint = &mut self.endpoints[index as usize];
        let readable = endpoint.connection.readable();
        let failed = endpoint.connection.has_failed();
        let room = endpoint.pending.as_ref().map_or(0, |pending| endpoint.room(pending.to_write));
        let Some(pending) = &mut endpoint.pending else { return };
        pending.listed = false;
        if failed {
            pending.to_write = 0;
            return;
        }
        let woken = std::mem::take(&mut pending.sleeps);
        let wake = move |charge: &mut Charge<'_>| {
            if woken {
                charge.add(Operation::Wakeup, wakeup);
            }
        };
        if pending.reads && readable > 0 {
            let bytes = readable.min(call_size.0);
            return self.begin(Job::Read { index, bytes }, cx, |charge| {
                wake(charge);
                charge.read(bytes);
            });
        }
        if room == 0 {
            pending.sleeps = true;
            return;
        }
        let calls = pending.call_left == 0;
        if calls {
            pending.call_left = call_size.0;
        }
        let bytes = room.min(pending.call_left);
        pending.call_left -= bytes;
        self.begin(Job::Write { index, bytes }, cx, |charge| {
            wake(charge);
            charge.write(bytes, calls);
        });
    }

    /// Starts a job.
    fn begin<E: Egress, O: Observer>(
        &mut self,
        job: Job,
        cx: &Context<'_, E, O>,
        charge: impl FnOnce(&mut Charge<'_>),
    ) {
        let Some(processing) = &mut self.processing else { return };
        processing.charge(cx.now, charge);
        if let Some(work) = &mut processing.work {
            work.job = job;
        }
    }
}
