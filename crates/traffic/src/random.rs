//! Random numbers, for links that lose packets and disciplines that drop at random: each entity's stream
//! derives from the run's seed and the entity's name, so that adding a node disturbs nobody.

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a counter and a mixer.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of the entity called `name` in a run with `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, so that streams of different names start far apart.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut stream = Self(seed);
        Self(stream.next_u64() ^ hash)
    }

    /// The stream that starts from `seed` itself.
    pub const fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }
}
