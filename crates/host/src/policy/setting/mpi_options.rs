//! The socket options for programs of MPI jobs, as `suimon mpi enable` loads them.

use std::io;
use std::time::Duration;

use congestion::{Algorithm, Config};
use serde::{Deserialize, Serialize};

use crate::mpi;

/// What the sockets of such programs adopt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MpiOptions {
    /// The congestion control, one of ours.
    pub algorithm: String,
    /// Its parameters.
    pub values: Vec<u32>,
    /// The minimum retransmission timeout in microseconds; `None`: the kernel's.
    pub rto_min_us: Option<u64>,
}

impl MpiOptions {
    /// For people.
    pub(in super::super) fn shown(&self) -> String {
        let config = self.config().ok();
        let paced = config.and_then(|config| {
            let mut parameters = config.parameters();
            parameters.find(|(parameter, _)| parameter.name() == "restart").map(|(_, value)| value)
        });
        let paced = paced.filter(|&value| value > 0);
        let restart = paced.map_or(String::new(), |value| format!(" restart {value}"));
        let timeout = self
            .rto_min_us
            .map_or(String::new(), |us| format!(" rto_min {} ms", us as f64 / 1_000.0));
        format!("phases, {}{restart}{timeout}", self.algorithm)
    }

    fn config(&self) -> io::Result<Config> {
        let unknown = || io::Error::other(format!("this version has no `{}`", self.algorithm));
        let mut config = Config::from(Algorithm::by_name(&self.algorithm).ok_or_else(unknown)?);
        let names: Vec<_> = config.parameters().map(|(parameter, _)| parameter).collect();
        for (parameter, value) in names.iter().zip(&self.values) {
            config.set(parameter.name(), *value).map_err(|_| unknown())?;
        }
        Ok(config)
    }

    pub(super) fn write(&self, on: bool) -> io::Result<()> {
        if !on {
            return mpi::disable().map(drop).map_err(io::Error::other);
        }
        let settings = mpi::Settings {
            congestion: self.config()?,
            rto_min: self.rto_min_us.map(Duration::from_micros),
            cgroup: None,
        };
        mpi::enable(&settings).map_err(io::Error::other)
    }
}
