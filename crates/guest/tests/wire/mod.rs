//! A link between two cards, with a rate, a delay and a queue in each direction.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use guest::{Cards, NEVER, Outside};

/// Both directions.
pub(crate) struct Wire {
    rate: u64,
    delay: u64,
    queue: usize,
    /// Frames in flight with their arrival times, by receiving card.
    flight: [VecDeque<(u64, Vec<u8>)>; 2],
    busy_until: [u64; 2],
    frames: u64,
    digest: DefaultHasher,
}

impl Wire {
    /// Creates a link; the units are bit/s, nanoseconds, frames.
    pub(crate) fn new(rate: u64, delay: u64, queue: usize) -> Self {
        let (flight, busy_until) = (<_>::default(), [0; 2]);
        Self { rate, delay, queue, flight, busy_until, frames: 0, digest: DefaultHasher::new() }
    }

    /// The number of frames sent, and a digest of their bytes and times.
    pub(crate) fn seen(&self) -> (u64, u64) {
        (self.frames, self.digest.finish())
    }
}

impl Outside for Wire {
    fn send(&mut self, card: usize, _: u16, frame: &[u8], now: u64) -> bool {
        self.frames += 1;
        (card, frame, now).hash(&mut self.digest);
        let to = 1 - card;
        let takes = (frame.len() as u64 + 24) * 8_000_000_000 / self.rate;
        let start = self.busy_until[to].max(now);
        if ((start - now) / takes) as usize >= self.queue {
            return true;
        }
        self.busy_until[to] = start + takes;
        self.flight[to].push_back((start + takes + self.delay, frame.to_vec()));
        true
    }

    fn next(&self) -> u64 {
        let first = |flight: &VecDeque<(u64, _)>| flight.front().map_or(NEVER, |(at, _)| *at);
        self.flight.iter().map(first).min().unwrap_or(NEVER)
    }

    fn handle_due(&mut self, now: u64, cards: &mut Cards<'_>) {
        for (card, flight) in self.flight.iter_mut().enumerate() {
            while let Some((_, frame)) = flight.pop_front_if(|(at, _)| *at <= now) {
                cards.deliver(card, &frame);
            }
        }
    }
}
