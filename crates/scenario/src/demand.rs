//! The starts and sizes of flows: fixed, or drawn at random from the run's seed and the flow's name.

use base::distribution::Scalar;
use base::setting::settings;
use base::{Bytes, Distribution, Duration, Instant, Random};

settings! {
    /// Start times and sizes of the flows of one table.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Demand {
        /// Start time; 0 s unless given. "0 s..1 s" draws each flow's start from the run's seed and its name.
        pub start: Distribution<Duration>,
        /// Time between the starts of successive flows, added to `start`; 0 unless given. "exponential 50 ms" makes
        /// Poisson arrivals.
        pub stagger: Distribution<Duration>,
        /// Time at which the program stops sending; never unless given.
        pub stop: Option<Duration>,
        /// Payload of each flow; no limit unless given. "web search" draws each flow's size from the run's seed and
        /// its name.
        #[range(Bytes(1)..)]
        pub bytes: Option<Distribution<Bytes>>,
    }
}

impl Default for Demand {
    /// An unlimited flow from the start of the run.
    fn default() -> Self {
        let now = Distribution::Fixed(Duration::ZERO);
        Self { start: now.clone(), stagger: now, stop: None, bytes: None }
    }
}

impl Demand {
    /// The end of all flows; `NEVER` if they continue to the end of the run.
    pub fn stops(&self) -> Instant {
        self.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop)
    }

    /// The bytes that the flow of that name sends in a run with `seed`, at least one; `None` for no limit.
    pub fn bytes(&self, seed: u64, name: &str) -> Option<Bytes> {
        self.bytes.as_ref().map(|bytes| draw(bytes, seed, name, "bytes").max(Bytes(1)))
    }

    /// Whether the starts do not depend on the seed.
    pub const fn is_fixed(&self) -> bool {
        self.start.is_fixed() && self.stagger.is_fixed()
    }

    /// The starts of the flows of these names in a run with `seed`. Each flow draws from its own streams.
    pub fn starts<'n>(
        &self,
        seed: u64,
        names: impl IntoIterator<Item = &'n str>,
    ) -> impl Iterator<Item = Instant> {
        let mut staggered = Duration::ZERO;
        names.into_iter().enumerate().map(move |(index, name)| {
            if index > 0 {
                staggered += draw(&self.stagger, seed, name, "stagger");
            }
            let start = draw(&self.start, seed, name, "start");
            Instant::ZERO + (start + staggered)
        })
    }
}

/// The value that the flow of that name draws for a key of its table. Each key has its own stream.
fn draw<T: Scalar>(from: &Distribution<T>, seed: u64, name: &str, key: &str) -> T {
    match from {
        Distribution::Fixed(value) => *value,
        // Flow names contain no blank.
        random => random.draw(&mut Random::new(seed, &format!("{name} {key}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution;

    const NAMES: [&str; 4] = ["f.1", "f.2", "f.3", "f.4"];

    fn starts(start: &str, stagger: &str, seed: u64, names: &[&str]) -> Vec<Instant> {
        let read =
            |text| distribution::read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let demand = Demand { start: read(start), stagger: read(stagger), ..Demand::default() };
        demand.starts(seed, names.iter().copied()).collect()
    }

    #[test]
    fn starts_differ_with_the_seed_and_not_with_the_neighbours() {
        let all = starts("1 s..2 s", "0 s", 1, &NAMES);
        assert_eq!(all, starts("1 s..2 s", "0 s", 1, &NAMES));
        assert_ne!(all, starts("1 s..2 s", "0 s", 2, &NAMES));
        assert_eq!(all[1..2], starts("1 s..2 s", "0 s", 1, &NAMES[1..2]));
        let (low, high) =
            (Instant::ZERO + Duration::from_secs(1), Instant::ZERO + Duration::from_secs(2));
        assert!(all.iter().all(|start| (low..=high).contains(start)), "{all:?}");
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
    }

    #[test]
    fn a_drawn_stagger_adds_up_to_its_mean() {
        let names: Vec<String> = (1..=10_000).map(|n| format!("f.{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for stagger in ["exponential 10 ms", "0 ms..20 ms"] {
            let all = starts("0 s", stagger, 1, &names);
            assert_eq!(all[0], Instant::ZERO);
            assert!(all.is_sorted());
            let last = all[9_999].as_secs_f64();
            assert!((last - 99.99).abs() < 3.0, "{stagger}: {last} s");
        }
    }
}
