//! Quantities that can be distributions in scenarios, with their predefined ones.

use base::distribution::{Cdf, Scalar};
use base::{Bytes, Duration, text};

use crate::data_file;
use crate::quantity::{self, Error};

/// A quantity with distributions in scenarios.
pub(crate) trait Written: Scalar {
    /// An example value for help texts.
    const EXAMPLE: &'static str;
    /// Its predefined distributions with their points.
    const NAMED: &'static [Named];
    /// Reads a value.
    fn read(text: &str) -> Result<Self, Error>;
    /// Reads a value in a list of points; a file may omit its unit.
    fn read_point(text: &str) -> Result<Self, Error>;
    /// The exact notation in a scenario.
    fn text(self) -> String;
}

/// A predefined distribution: values with their cumulative probability in thousandths.
pub(crate) struct Named {
    /// Its name; blanks, `-` and `_` are ignored.
    pub(crate) name: &'static str,
    points: &'static [(u64, u32)],
}

impl Written for Duration {
    const EXAMPLE: &'static str = "50 ms";
    const NAMED: &'static [Named] = &[];

    fn read(text: &str) -> Result<Self, Error> {
        quantity::duration(text)
    }

    fn read_point(text: &str) -> Result<Self, Error> {
        quantity::duration(text)
    }

    fn text(self) -> String {
        text::time(self)
    }
}

impl Written for Bytes {
    const EXAMPLE: &'static str = "50 kB";
    const NAMED: &'static [Named] = &[WEB_SEARCH, DATA_MINING];

    fn read(text: &str) -> Result<Self, Error> {
        quantity::bytes(text)
    }

    fn read_point(text: &str) -> Result<Self, Error> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return quantity::bytes(&format!("{text} B"));
        }
        // Whole numbers in the notation of programs: 1e3, 1460.0.
        match data_file::number(text).filter(|bytes| (0.0..1e18).contains(bytes)) {
            Some(bytes) => Ok(Self(bytes.round() as u64)),
            None => quantity::bytes(text),
        }
    }

    fn text(self) -> String {
        text::size(self)
    }
}

/// The flow sizes of a web search cluster: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, figure 4, with
/// the points that data centre simulations have used since. The mean is 1.71 MB.
const WEB_SEARCH: Named = Named {
    name: "web search",
    points: &[
        (0, 0),
        (10_000, 150),
        (20_000, 200),
        (30_000, 300),
        (50_000, 400),
        (80_000, 530),
        (200_000, 600),
        (1_000_000, 700),
        (2_000_000, 800),
        (5_000_000, 900),
        (10_000_000, 970),
        (30_000_000, 1_000),
    ],
};

/// The flow sizes of a data mining cluster: Greenberg et al., "VL2: a scalable and flexible data center network",
/// SIGCOMM 2009, figure 2, with the points that data centre simulations have used since. Half of the flows are below
/// 1.1 kB, and nearly all bytes are in flows above 100 MB. The mean is 12.6 MB.
const DATA_MINING: Named = Named {
    name: "data mining",
    points: &[
        (0, 0),
        (180, 100),
        (216, 200),
        (560, 300),
        (900, 400),
        (1_100, 500),
        (1_870, 600),
        (3_160, 700),
        (10_000, 800),
        (400_000, 900),
        (3_160_000, 950),
        (100_000_000, 980),
        (1_000_000_000, 1_000),
    ],
};

impl Named {
    pub(super) fn cdf<T: Scalar>(&self) -> Cdf<T> {
        let points = self.points.iter().map(|&(value, p)| (T::of(value), p * 1_000_000));
        Cdf::new(points.collect()).expect("the tables rise to one")
    }

    pub(super) fn is_called(&self, text: &str) -> bool {
        let letters = |text: &str| text.replace([' ', '-', '_'], "").to_lowercase();
        letters(self.name) == letters(text)
    }
}
