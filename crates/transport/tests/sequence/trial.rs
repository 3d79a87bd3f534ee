//! What a connection goes through, drawn from a seed: delays, losses, marks, writes and pauses.

use base::Duration;

/// A random stream (SplitMix64), so that a failure can be repeated from its seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// True once in `n` on average; never if that is 0.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        n != 0 && self.below(n) == 0
    }
}

/// A write of the application: `bytes` bytes, `after` the write before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) after: Duration,
    pub(crate) bytes: u64,
}

/// The path and the application of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// The round trip without a queue.
    pub(crate) delay: Duration,
    /// What a byte takes at the bottleneck, and how many packets may wait there.
    pub(crate) byte: Duration,
    pub(crate) buffer: usize,
    /// One in `loss` data segments is lost, one in `burst` begins a run of losses; 0 is none.
    pub(crate) loss: u64,
    pub(crate) burst: u64,
    /// One in `mark` segments is marked, if both ends support ECN.
    pub(crate) ecn: bool,
    pub(crate) mark: u64,
    pub(crate) writes: Vec<Write>,
}

/// Bytes of a full segment with timestamps.
pub(crate) const MSS: u64 = 1_448;

impl Trial {
    pub(crate) fn draw(seed: u64) -> (Self, Random) {
        let mut random = Random(seed);
        // What came first would be alike for seeds that are.
        random.next();
        let mbit = [5, 10, 20, 40][random.below(4) as usize];
        let ecn = random.once_in(3);
        let trial = Self {
            delay: Duration::from_ms(10 + random.below(50)),
            byte: Duration::from_ps(8_000_000 / mbit),
            buffer: 10 + random.below(90) as usize,
            loss: [0, 0, 50, 200, 800][random.below(5) as usize],
            burst: [0, 0, 300][random.below(3) as usize],
            ecn,
            mark: if ecn { 20 + random.below(200) } else { 0 },
            writes: draw_writes(&mut random),
        };
        (trial, random)
    }
}

/// Up to 600 segments in all: in one write, or in several with pauses between them.
fn draw_writes(random: &mut Random) -> Vec<Write> {
    let count = [1, 2, 5, 12][random.below(4) as usize];
    let share = 600 / count;
    let pause =
        |random: &mut Random| Duration::from_ms([5, 30, 120, 600][random.below(4) as usize]);
    (0..count)
        .map(|_| {
            let segments = 1 + random.below(share);
            // One in two ends with a segment that is not full.
            let rest = random.below(2) * random.below(MSS);
            Write { after: pause(random), bytes: segments * MSS + rest }
        })
        .collect()
}
