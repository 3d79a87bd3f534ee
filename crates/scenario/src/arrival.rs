//! When flows start: at a time, or at one drawn at random from the run's seed and the flow's name.

use std::fmt;

use traffic::random::Random;
use traffic::{Duration, Instant};

use crate::lock::time_text;
use crate::quantity::{self, Error};

/// A time, or a distribution that it is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomTime {
    /// Always the same.
    Fixed(Duration),
    /// Uniformly distributed from the least to the greatest, both included.
    Uniform {
        /// The least.
        min: Duration,
        /// The greatest; above the least.
        max: Duration,
    },
    /// Exponentially distributed: as a stagger, Poisson arrivals.
    Exponential {
        /// The mean.
        mean: Duration,
    },
}

impl RandomTime {
    /// No time.
    pub const ZERO: Self = Self::Fixed(Duration::ZERO);

    /// Whether every draw is the same.
    pub const fn is_fixed(self) -> bool {
        matches!(self, Self::Fixed(_))
    }

    /// The least that it can be.
    pub const fn min(self) -> Duration {
        match self {
            Self::Fixed(time) => time,
            Self::Uniform { min, .. } => min,
            Self::Exponential { .. } => Duration::ZERO,
        }
    }

    fn draw(self, random: &mut Random) -> Duration {
        match self {
            Self::Fixed(time) => time,
            Self::Uniform { min, max } => {
                let width = u128::from(max.as_ps() - min.as_ps()) + 1;
                // The high half of the product is uniform below the width.
                let above = (u128::from(random.next_u64()) * width) >> 64;
                Duration::from_ps(min.as_ps() + above as u64)
            }
            Self::Exponential { mean } => random.exponential(mean),
        }
    }
}

impl fmt::Display for RandomTime {
    /// As a scenario has it, to the picosecond.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(time) => write!(f, "{}", time_text(time)),
            Self::Uniform { min, max } => write!(f, "{}..{}", time_text(min), time_text(max)),
            Self::Exponential { mean } => write!(f, "exponential {}", time_text(mean)),
        }
    }
}

/// Reads a time, `0 s..100 ms` for a uniform distribution, or `exponential 50 ms`.
///
/// # Errors
///
/// A time that cannot be read, a range without an end or that ends before it begins, and a mean of zero.
pub(crate) fn random_time(text: &str) -> Result<RandomTime, Error> {
    let text = text.trim();
    if let Some(mean) = text.strip_prefix("exponential") {
        let mean = quantity::duration(mean)?;
        if mean == Duration::ZERO {
            let help = "give the mean: \"exponential 50 ms\"";
            return Err(Error::new("an exponential distribution with a mean of zero", help));
        }
        return Ok(RandomTime::Exponential { mean });
    }
    let Some((min, max)) = text.split_once("..") else {
        return quantity::duration(text).map(RandomTime::Fixed);
    };
    // An end without a unit has that of the other.
    let number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let min = match min.trim().chars().all(number) {
        true => quantity::duration(&format!("{min} {}", max.trim().trim_start_matches(number)))?,
        false => quantity::duration(min)?,
    };
    let max = quantity::duration(max)?;
    match min < max {
        true => Ok(RandomTime::Uniform { min, max }),
        false => {
            let message = format!("the range `{text}` does not go up");
            Err(Error::new(message, "write the least time first: \"0 s..100 ms\""))
        }
    }
}

/// When the flows of one table start, as the file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The start, drawn for each flow; the stagger comes on top.
    pub start: RandomTime,
    /// From each flow's start to the next one's, drawn for each.
    pub stagger: RandomTime,
}

impl Arrival {
    /// At that time.
    pub const fn at(start: Duration) -> Self {
        Self { start: RandomTime::Fixed(start), stagger: RandomTime::ZERO }
    }

    /// Whether the seed has no part in it.
    pub const fn is_fixed(&self) -> bool {
        self.start.is_fixed() && self.stagger.is_fixed()
    }

    /// When the flows of these names start in a run with `seed`. Each flow draws from streams of its own.
    pub fn starts<'n>(
        self,
        seed: u64,
        names: impl IntoIterator<Item = &'n str>,
    ) -> impl Iterator<Item = Instant> {
        let mut staggered = Duration::ZERO;
        names.into_iter().enumerate().map(move |(index, name)| {
            if index > 0 {
                let gap = draw(self.stagger, seed, name, "stagger");
                staggered += gap;
            }
            let start = draw(self.start, seed, name, "start");
            Instant::ZERO + (start + staggered)
        })
    }
}

fn draw(time: RandomTime, seed: u64, name: &str, key: &str) -> Duration {
    match time {
        RandomTime::Fixed(time) => time,
        // No name of a flow has a blank.
        random => random.draw(&mut Random::new(seed, &format!("{name} {key}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["f.1", "f.2", "f.3", "f.4"];

    fn starts(start: &str, stagger: &str, seed: u64, names: &[&str]) -> Vec<Instant> {
        let read = |text| random_time(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let arrival = Arrival { start: read(start), stagger: read(stagger) };
        arrival.starts(seed, names.iter().copied()).collect()
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

    #[test]
    fn texts_read_back() {
        for text in ["10 ms", "0 s..100 ms", "1 ps..18446744073709551615 ps", "exponential 1 us"] {
            assert_eq!(random_time(text).unwrap().to_string(), text);
        }
        let told = |text| random_time(text).unwrap_err().message;
        assert_eq!(told("2 s..1 s"), "the range `2 s..1 s` does not go up");
        assert_eq!(told("exponential 0 s"), "an exponential distribution with a mean of zero");
        assert_eq!(told("1..2"), "the time `1` has no unit");
        assert_eq!(random_time("0..2 s"), random_time("0 s..2 s"));
    }
}
