//! The token-bucket regulator: ALTQ's limit on how fast a driver may take packets, so that they queue in the
//! discipline and not in the device's buffer (Cho: Fitting Theory into Reality in the ALTQ Case, AsiaBSDCon
//! 2004). Here it is a discipline around any other one.
//!
//! As in ALTQ, a packet may go as long as the bucket is not overdrawn, and may overdraw it. The bucket is
//! stored as the instant when it was at zero, in picoseconds with the remainder carried. So it fills exactly
//! at its rate and, in a departure from ALTQ, all the time, not only when it is found empty.
//!
//! Laws, tested: a backlogged regulator sends at its rate to one packet; between any two packets it sends at
//! most the rate times that time, the bucket, and one packet.

use alloc::boxed::Box;

use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::page::Page;
use crate::qdisc::{self, Qdisc, fifo};
use base::packet::PacketId;
use base::setting::{errors, in_range, settings};
use base::subject::Subject;
use base::units::{Bytes, Duration, Instant, Rate, Serializer};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "A regulator around any other discipline. A bucket fills at the rate, and a packet is sent if the \
         bucket is not overdrawn. So packets wait in the discipline and not in the device's buffer.",
    when: "In front of a modem or tunnel that is slower than the interface, or of a device with a large \
         buffer, so that the discipline within decides which packets wait. Not to space packets evenly: a \
         full bucket leaves as a burst, which `psp` avoids.",
    sources: &[
        "Cho, \"Fitting Theory into Reality in the ALTQ Case\", AsiaBSDCon 2004: the \
         output-buffer model",
        "ALTQ's tbrconfig(8) and FreeBSD's pfctl: automatic bucket sizes",
    ],
};

/// Rates, and the MTUs that the automatic bucket holds up to each rate (tbrconfig, FreeBSD's pfctl).
const BUCKETS: [(u64, u64); 4] =
    [(1_000_000, 1), (10_000_000, 4), (200_000_000, 8), (2_500_000_000, 24)];
/// The bucket above the last of these rates, in MTUs.
const BUCKET_FAST: u64 = 128;
/// The greatest MTU for the automatic bucket (tbrconfig).
const MTU_COUNTED: u64 = 1_500;

settings! {
    /// The settings of the discipline.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Rate at which the bucket fills, in frame bits per second (header and FCS counted, preamble and gap not);
        /// at most the link's. Default: the link's.
        pub rate: Option<Rate>,
        /// Depth of the bucket. Default, in MTUs of at most 1500 bytes: 1 up to 1 Mbit/s, 4 up to 10 Mbit/s, 8 up to
        /// 200 Mbit/s, 24 up to 2.5 Gbit/s, 128 above (tbrconfig, FreeBSD's pfctl).
        #[range(Bytes(1)..)]
        pub bucket: Option<Bytes>,
        /// Regulated discipline; not `psp` with gap frames, which has its own timing. Default: `fifo`.
        pub queue: Box<qdisc::Parameters>,
    }
}

impl Default for Parameters {
    fn default() -> Self {
        let queue = Box::new(qdisc::Parameters::Fifo(fifo::Parameters::default()));
        Self { rate: None, bucket: None, queue }
    }
}

errors! {
    /// Why parameters are refused.
    pub enum Error from {} or {
        /// The regulator's rate is above that of the link.
        #[error("the regulator has {rate}, but the link has only {link}: lower its rate")]
        Above {
            /// The regulator's rate.
            rate: Rate,
            /// The link's.
            link: Rate,
        },
        /// Gap frames need a link that never waits.
        #[error(
            "psp spaces packets by gap frames, and a regulator would delay them too: set `gaps` to false, or use \
             psp alone"
        )]
        Gaps,
        /// The inner discipline refuses its parameters.
        #[error("the regulated queue: {0}")]
        Queue(Box<qdisc::Error>),
    } at {
        Self::Above { .. } => Subject::settings(&["rate"]),
        Self::Gaps | Self::Queue(_) => Subject::settings(&["queue"]),
    }
}

/// A checked rate and bucket.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: Rate,
    /// The time that a full bucket lasts at the rate.
    depth: Duration,
}

/// A token-bucket regulator around another discipline.
#[derive(Debug)]
pub struct Tbr {
    port: Port,
    /// The exact time that the tokens of a packet take to arrive.
    serializer: Serializer,
    depth: Duration,
    /// When the bucket is at zero; in the future while it is overdrawn.
    zero: Instant,
    queue: Qdisc,
    /// Whether the inner discipline may hold packets back.
    queue_waits: bool,
}

fn check(parameters: &Parameters, port: Port) -> Result<Bucket, Error> {
    in_range(parameters)?;
    if let qdisc::Parameters::Psp(psp) = &*parameters.queue
        && psp.gaps
    {
        return Err(Error::Gaps);
    }
    let rate = parameters.rate.unwrap_or(port.rate);
    if rate > port.rate {
        return Err(Error::Above { rate, link: port.rate });
    }
    let bucket = parameters.bucket.unwrap_or(automatic_bucket(rate, port.mtu));
    Ok(Bucket { rate, depth: rate.time_for(bucket) })
}

/// The depth of the bucket at `rate`, unless it is given.
pub fn automatic_bucket(rate: Rate, mtu: Bytes) -> Bytes {
    let step = BUCKETS.iter().find(|(limit, _)| rate.bits_per_second() <= *limit);
    let mtus = step.map_or(BUCKET_FAST, |&(_, mtus)| mtus);
    Bytes(mtu.0.clamp(1, MTU_COUNTED) * mtus)
}

/// Whether a discipline may answer "not before" although packets are queued.
fn waits(parameters: &qdisc::Parameters) -> bool {
    ["psp", "cbq", "hfsc", "tbr"].contains(&parameters.name())
}

impl Tbr {
    /// The bucket is never fuller than full.
    fn forfeit(&mut self, now: Instant) {
        let full = now.as_ps().saturating_sub(self.depth.as_ps());
        self.zero = self.zero.max(Instant::from_ps(full));
    }

    /// The answer while the bucket is overdrawn.
    fn wait(&mut self, packets: &Packets, clock: WireClock) -> Dequeued {
        if self.queue.is_empty() {
            return Dequeued::Empty;
        }
        // Only a discipline that waits is asked: for others a peek would decide on the packet's delay too
        // early.
        match self.queue_waits.then(|| self.queue.peek(packets, clock)) {
            Some(Dequeued::NotBefore(then)) => Dequeued::NotBefore(then.max(self.zero)),
            _ => Dequeued::NotBefore(self.zero),
        }
    }
}

impl Discipline for Tbr {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let Bucket { rate, depth } = check(parameters, port)?;
        let queue = Qdisc::attach(&parameters.queue, port)
            .map_err(|error| Error::Queue(Box::new(error)))?;
        let serializer = Serializer::new(rate);
        let queue_waits = waits(&parameters.queue);
        Ok(Self { port, serializer, depth, zero: Instant::ZERO, queue, queue_waits })
    }

    fn change(&mut self, parameters: &Parameters, clock: WireClock) -> Result<(), Error> {
        let Bucket { rate, depth } = check(parameters, self.port)?;
        self.queue
            .change(&parameters.queue, clock)
            .map_err(|error| Error::Queue(Box::new(error)))?;
        if rate != self.serializer.rate() {
            self.serializer = Serializer::new(rate);
        }
        self.depth = depth;
        Ok(())
    }

    fn prepare_for(&mut self, packets: usize) {
        self.queue.prepare_for(packets);
    }

    fn set_port(&mut self, port: Port, clock: WireClock) {
        self.port = port;
        self.queue.set_port(port, clock);
    }

    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, clock: WireClock) -> Enqueued {
        self.queue.enqueue(packets, packet, clock)
    }

    fn dequeue(&mut self, packets: &mut Packets, clock: WireClock) -> Dequeued {
        if self.zero > clock.now {
            return self.wait(packets, clock);
        }
        let answer = self.queue.dequeue(packets, clock);
        let length = match answer {
            Dequeued::Send(id) => Bytes(packets[id].length.into()),
            Dequeued::Gap(length) => length,
            Dequeued::NotBefore(_) | Dequeued::Empty => return answer,
        };
        self.forfeit(clock.now);
        self.zero += self.serializer.advance(length);
        answer
    }

    fn peek(&mut self, packets: &Packets, clock: WireClock) -> Dequeued {
        if self.zero > clock.now {
            self.wait(packets, clock)
        } else {
            self.queue.peek(packets, clock)
        }
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        self.queue.flush(packets, now);
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn statistics(&self) -> Statistics {
        self.queue.statistics()
    }

    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        self.queue.classes(each);
    }
}
