//! PIE, proportional integral controller enhanced (RFC 8033), with ECN.
//!
//! Drops are decided at enqueue, with a probability that a controller updates every 15 ms from the packets'
//! waiting time. The wait is measured by time stamps (section 4.3's first way). The controller catches up
//! when a packet arrives or leaves, so it needs no timer. Section 5.5's cap on the steps of a high
//! probability is always on; section 5.4's derandomization is an option. Section 5.3, which turns PIE off
//! below a third of the buffer, is left out, because section 4.1's safeguards hold.

use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::fifo;
use crate::qdisc::page::Page;
use crate::qdisc::queue::Queue;
use base::drop_reason::DropReason;
use base::packet::{ETHERNET_HEADER_AND_FCS, PacketId};
use base::random::Random;
use base::setting::{errors, in_range};
use base::units::{Duration, Instant};

mod controller;
mod parameters;

use controller::{Controller, ONE};

pub use parameters::Parameters;

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "A controller computes the probability of a drop from the distance between the packets' wait and \
         the target, and from how fast the wait grows. Packets are dropped when they arrive, so nothing \
         happens at the head of the queue.",
    when: "Where hardware must decide on arrival, as in DOCSIS modems, at any rate without tuning. Not where \
         the target is far below 15 ms or the load is bursts of one flow: `fq_codel` is better there. Not for \
         [`dctcp`](../congestion/dctcp.md): it needs marks at a threshold, as by `mark`.",
    sources: &["RFC 8033, sections 4.1 to 4.4, 5.1 (ECN), 5.4 and 5.5"],
};

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The limits let no full frame in.
        Limit(fifo::Error),
    }
}

impl Parameters {
    const fn limits(&self) -> fifo::Parameters {
        fifo::Parameters { bytes: self.bytes, packets: self.packets }
    }

    fn check(&self, port: Port) -> Result<(), Error> {
        in_range(self)?;
        Ok(fifo::check(&self.limits(), port)?)
    }
}

/// Proportional integral controller enhanced.
#[derive(Debug)]
pub struct Pie {
    parameters: Parameters,
    port: Port,
    queue: Queue,
    controller: Controller,
    /// When to update the probability next; `None` until the first packet starts the clock.
    update_next: Option<Instant>,
    /// The sum of the probabilities of the packets since the last drop, in 2^-56 ("accu_prob").
    accumulated: u64,
    random: Random,
}

impl Pie {
    /// Brings the controller up to date.
    #[inline]
    fn run(&mut self, now: Instant) {
        self.update_next = Some(match self.update_next {
            Some(next) => self.controller.run(&self.parameters, next, now),
            None => now + self.parameters.update,
        });
    }

    /// Whether to drop or mark the arriving packet ("drop_early").
    #[inline]
    fn hits(&mut self) -> bool {
        if self.controller.is_calm(self.parameters.target) {
            self.controller.burst = self.parameters.burst;
        }
        if self.controller.burst > Duration::ZERO || self.is_safe() {
            return false;
        }
        if self.controller.probability == 0 {
            self.accumulated = 0;
            return false;
        }
        if self.parameters.derandomize {
            return self.hits_evenly();
        }
        self.random.next_u64() >> 8 < self.controller.probability
    }

    /// Section 4.1: nothing is dropped while delay and probability are low, or while the queue is at most two
    /// frames long.
    fn is_safe(&self) -> bool {
        let frame_max = self.port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
        let short = self.controller.delay_old.as_ps() < self.parameters.target.as_ps() / 2;
        (short && self.controller.probability < ONE / 5)
            || self.queue.bytes() <= frame_max.saturating_mul(2)
    }

    /// Section 5.4: no drop before the probabilities add up to 0.85, one drop before they exceed 8.5.
    fn hits_evenly(&mut self) -> bool {
        self.accumulated = self.accumulated.saturating_add(self.controller.probability);
        let hit = if self.accumulated < ONE / 100 * 85 {
            false
        } else if self.accumulated >= ONE / 10 * 85 {
            true
        } else {
            self.random.next_u64() >> 8 < self.controller.probability
        };
        if hit {
            self.accumulated = 0;
        }
        hit
    }

    /// Whether ECN marks at this probability. The greatest share, just below one, represents one.
    fn marks(&self) -> bool {
        let probability = (self.controller.probability >> 24).min(u32::MAX.into());
        self.parameters.ecn && probability <= self.parameters.mark_max.0.into()
    }
}

impl Discipline for Pie {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        parameters.check(port)?;
        Ok(Self {
            parameters: parameters.clone(),
            port,
            queue: Queue::default(),
            controller: Controller::default(),
            update_next: None,
            accumulated: 0,
            random: Random::from_seed(port.seed),
        })
    }

    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        parameters.check(self.port)?;
        self.parameters = parameters.clone();
        // The clock restarts with the next packet, because its period may differ.
        self.update_next = None;
        Ok(())
    }

    fn set_port(&mut self, port: Port, _clock: WireClock) {
        self.port = port;
    }

    #[inline]
    fn enqueue(
        &mut self,
        packets: &mut Packets,
        id: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        self.run(now);
        let length = u64::from(packets[id].length);
        let hit = self.hits();
        if let Some(reason) = self.queue.over(&self.parameters.limits(), length) {
            self.accumulated = 0;
            return self.queue.refuse(length, reason);
        }
        if hit && !(self.marks() && self.queue.mark(packets, id)) {
            return self.queue.refuse(length, DropReason::Early);
        }
        self.queue.push(packets, id, now)
    }

    #[inline]
    fn dequeue(&mut self, packets: &mut Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        self.run(now);
        let Some(id) = self.queue.pop(packets) else { return Dequeued::Empty };
        self.controller.delay = match self.queue.is_empty() {
            true => Duration::ZERO,
            false => now.since(packets[id].queued),
        };
        Dequeued::Send(id)
    }

    fn peek(&mut self, _packets: &Packets, _: WireClock) -> Dequeued {
        self.queue.head().map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        self.run(now);
        self.queue.flush(packets);
        self.controller.delay = Duration::ZERO;
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn statistics(&self) -> Statistics {
        self.queue.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::packet::{Packet, ecn};
    use base::units::{Bytes, Rate};
    use std::vec::Vec;

    fn pie(parameters: Parameters) -> Pie {
        let rate = Rate::from_bits_per_second(10_000_000).expect("a rate");
        let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
        Pie::attach(&parameters, port).expect("parameters that make sense")
    }

    /// Offers `load` packets of 1000 bytes for each 800 us that one takes on the link, for `ms`. Returns the
    /// last packet's wait in microseconds, and when packets were refused.
    fn run(pie: &mut Pie, load: u64, ms: u64, tos: u8) -> (u64, Vec<Instant>) {
        let (mut packets, mut now, mut refused) = (Packets::new(), Instant::ZERO, Vec::new());
        while now < Instant::ZERO + Duration::from_ms(ms) {
            for _ in 0..load {
                let id = packets.insert(Packet { length: 1_000, tos, ..Packet::default() });
                if pie.enqueue(&mut packets, id, now.into()) != Enqueued::Queued {
                    refused.push(now);
                    packets.release(id);
                }
            }
            if let Dequeued::Send(id) = pie.dequeue(&mut packets, now.into()) {
                packets.release(id);
            }
            now += Duration::from_us(800);
        }
        (pie.controller.delay.as_us(), refused)
    }

    #[test]
    fn an_overload_settles_at_the_target_and_its_share_of_drops() {
        for derandomize in [false, true] {
            let mut pie = pie(Parameters { derandomize, ..Parameters::default() });
            let (delay, refused) = run(&mut pie, 2, 60_000, 0);
            assert!((7_000..30_000).contains(&delay), "{delay} us");
            // Of 150 000 packets half fit; section 5.4's wait for 0.85 causes no lasting error.
            assert!((74_000..75_100).contains(&refused.len()), "{}", refused.len());
        }
    }

    #[test]
    fn a_burst_passes_for_as_long_as_it_may() {
        let (_, refused) = run(&mut pie(Parameters::default()), 4, 400, 0);
        let first = refused.first().expect("a drop").since(Instant::ZERO);
        assert!(first >= Duration::from_ms(150), "{first:?}");
        let mut eager = pie(Parameters { burst: Duration::ZERO, ..Parameters::default() });
        let (_, refused) = run(&mut eager, 4, 400, 0);
        let eager = refused.first().expect("a drop").since(Instant::ZERO);
        assert!(eager < first, "{eager:?}");
    }

    #[test]
    fn ecn_marks_below_its_threshold_and_drops_above() {
        let mut pie = pie(Parameters { ecn: true, ..Parameters::default() });
        pie.controller.delay_old = Duration::from_ms(20);
        let mut packets = Packets::new();
        let mut offer = |pie: &mut Pie, tos| {
            let id = packets.insert(Packet { length: 1_500, tos, ..Packet::default() });
            (pie.enqueue(&mut packets, id, Instant::ZERO.into()), packets[id].tos)
        };
        (0..3).for_each(|_| assert_eq!(offer(&mut pie, ecn::ECT0).1, ecn::ECT0));
        pie.controller.probability = ONE / 10 - (1 << 30);
        let marked = (0..500).filter(|_| offer(&mut pie, ecn::ECT0) == (Enqueued::Queued, ecn::CE));
        let marked = marked.count();
        assert!((30..70).contains(&marked), "{marked}");
        assert_eq!(pie.statistics().marked_packets, marked as u64);
        pie.controller.probability = ONE;
        let dropped = Enqueued::Dropped(DropReason::Early);
        assert_eq!(offer(&mut pie, ecn::ECT0), (dropped, ecn::ECT0));
    }

    /// Section 5.4: at 1/10 no drop comes before the ninth packet nor after the 85th.
    #[test]
    fn drops_are_spaced_if_so_asked() {
        let mut pie = pie(Parameters { derandomize: true, ..Parameters::default() });
        pie.controller.probability = ONE / 10;
        let mut distances = Vec::new();
        for _ in 0..2_000 {
            distances.push(1 + (0..).take_while(|_| !pie.hits_evenly()).count());
        }
        assert!(distances.iter().all(|distance| (9..=86).contains(distance)));
        assert!(distances.contains(&9));
    }

    #[test]
    fn two_packets_are_always_let_in() {
        let mut pie = pie(Parameters::default());
        pie.controller =
            Controller { probability: ONE, delay_old: Duration::from_secs(1), ..pie.controller };
        let mut packets = Packets::new();
        let mut taken = 0;
        for _ in 0..10 {
            let id = packets.insert(Packet { length: 1_518, ..Packet::default() });
            let answer = pie.enqueue(&mut packets, id, Instant::ZERO.into());
            taken += usize::from(answer == Enqueued::Queued);
        }
        assert_eq!(taken, 3, "up to two full frames, and the one that finds them");
    }

    #[test]
    fn settings_without_sense_are_refused() {
        let port = pie(Parameters::default()).port;
        let with = |parameters: Parameters| Pie::attach(&parameters, port).expect_err("refused");
        for (wrong, setting) in [
            (Parameters { alpha: 0, ..Parameters::default() }, "alpha"),
            (Parameters { target: Duration::ZERO, ..Parameters::default() }, "target"),
            (Parameters { update: Duration::MAX, ..Parameters::default() }, "update"),
        ] {
            assert_eq!(with(wrong).subject(), base::subject::Subject::settings(&[setting]));
        }
    }
}
