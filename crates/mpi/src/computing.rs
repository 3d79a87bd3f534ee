//! The computing time charged to ranks where computing takes no time: the computing time in a trace, times a factor.

use std::fs;
use std::path::Path;

use mpi_trace::Trace;

use crate::error::Error;

/// Writes a file for each rank, for `profiler/computing.c`: the nanoseconds to sleep before each call.
pub(crate) fn write(trace: &Trace, (over, under): (u32, u32), folder: &Path) -> Result<(), Error> {
    let scaled = |time: u64| {
        let scaled = u128::from(time) * u128::from(over) / u128::from(under.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    };
    for (rank, calls) in trace.ranks.iter().enumerate() {
        let times = calls.iter().map(|call| scaled(call.computing));
        let bytes: Vec<u8> = times.flat_map(u64::to_le_bytes).collect();
        let path = folder.join(format!("computing.{rank}"));
        fs::write(&path, bytes).map_err(Error::io(&path))?;
    }
    Ok(())
}
