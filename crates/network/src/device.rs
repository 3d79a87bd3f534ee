//! The device of a port: the wire's clock, and the buffer that takes frames ahead of the wire.

use alloc::boxed::Box;

use base::units::Serializer;
use base::{Bytes, Duration, Instant, Rate};
use traffic::WireClock;

use crate::trace::{Player, Trace};

/// A device that sends frames back to back at its line rate.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Device {
    /// When it takes the next frame: the wire is free then, or the backlog on the device is small enough.
    ready_at: Instant,
    /// When the wire is free again.
    free_at: Instant,
    line: Serializer,
    /// Bytes on the wire per frame, beyond its own.
    overhead: u64,
    /// How far ahead of the wire it takes frames: the transmission time of the buffer.
    ahead: Duration,
    buffer: Bytes,
    /// The trace that a varying rate follows.
    trace: Option<Box<Player>>,
}

impl Device {
    /// A device at `rate` without a buffer, with `overhead` on the wire per frame.
    pub(crate) fn new(rate: Rate, overhead: Bytes) -> Self {
        Self {
            ready_at: Instant::ZERO,
            free_at: Instant::ZERO,
            line: Serializer::new(rate),
            overhead: overhead.0,
            ahead: Duration::ZERO,
            buffer: Bytes(0),
            trace: None,
        }
    }

    /// Returns the device at a rate that follows `trace`.
    pub(crate) fn with_trace(self, trace: Trace) -> Self {
        let overhead = Bytes(self.overhead);
        let line = Serializer::uneven(trace.mean(overhead));
        Self { line, trace: Some(Box::new(Player::new(trace, overhead))), ..self }
    }

    /// Returns the device, which takes frames as long as less than `buffer` bytes, with their overhead, wait for the
    /// wire.
    pub(crate) fn with_buffer(self, buffer: Bytes) -> Self {
        Self { ahead: self.line.rate().time_for(buffer), buffer, ..self }
    }

    /// Sets its rate from the next frame on.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.line = Serializer::new(rate);
        self.trace = None;
        self.ahead = rate.time_for(self.buffer);
    }

    /// Whether the time that a frame takes depends on its length alone, and frames wait in the discipline only.
    pub(crate) fn is_plain(&self) -> bool {
        self.trace.is_none() && self.buffer == Bytes(0)
    }

    /// The line rate; the mean if it varies.
    pub(crate) fn rate(&self) -> Rate {
        self.line.rate()
    }

    /// When it takes the next frame.
    #[inline]
    pub(crate) fn ready_at(&self) -> Instant {
        self.ready_at
    }

    /// When the wire is free again.
    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// The wire's clock as the discipline sees it at `now`.
    #[inline]
    pub(crate) fn clock(&self, now: Instant) -> WireClock {
        WireClock { now, free: self.free_at }
    }

    /// Keeps the wire busy with `frames` frames of `length` bytes in total, from `now` or from when it is free;
    /// returns the start of the first one.
    #[inline]
    pub(crate) fn occupy(&mut self, length: u64, frames: u64, now: Instant) -> Instant {
        let start = now.max(self.free_at);
        let bytes = Bytes(length + frames * self.overhead);
        self.free_at = match self.line.whole(bytes) {
            Some(time) => start + time,
            None => self.sent_at(bytes, start),
        };
        self.ready_at = Instant::from_ps(self.free_at.as_ps().saturating_sub(self.ahead.as_ps()));
        start
    }

    /// When the last of `bytes` that start at `start` is sent, for a rate at which a byte does not take a whole
    /// number of picoseconds, or for a varying rate.
    #[inline]
    fn sent_at(&mut self, bytes: Bytes, start: Instant) -> Instant {
        match &mut self.trace {
            None => start + self.line.advance(bytes),
            Some(trace) => trace.deliver(bytes.0, start),
        }
    }
}
