//! Steps of MPI programs in the notation of scenarios: `compute 2 s, burst 10 MB`.

pub(crate) mod recorded;

use applications::mpi::collective::Kind;
use applications::mpi::program::Step;
use base::Bytes;

use crate::nearest;
use crate::quantity::{self, Error};
use base::text;

/// The folder beside a lock file that contains its traces.
pub const TRACES: &str = "traces";

/// Collective operations by name; rooted ones have the first rank as their root.
const COLLECTIVES: [(&str, Kind); 14] = [
    ("barrier", Kind::Barrier),
    ("bcast", Kind::Bcast(0)),
    ("reduce", Kind::Reduce(0)),
    ("allreduce", Kind::Allreduce),
    ("alltoall", Kind::Alltoall),
    ("allgather", Kind::Allgather),
    ("gather", Kind::Gather(0)),
    ("scatter", Kind::Scatter(0)),
    ("reduce_scatter", Kind::ReduceScatter),
    ("scan", Kind::Scan),
    ("halo", Kind::Halo),
    ("across", Kind::Across),
    ("burst", Kind::Burst),
    ("transfer", Kind::Transfer),
];

/// Reads steps, separated by commas.
///
/// # Errors
///
/// Unknown steps, or steps with the wrong number of values.
pub(crate) fn steps(text: &str) -> Result<Vec<Step>, Error> {
    let steps = text.split(',').map(str::trim).filter(|step| !step.is_empty());
    let steps = steps.map(step).collect::<Result<Vec<_>, _>>()?;
    if steps.is_empty() {
        return Err(Error::new(
            "no steps",
            "add a step, such as \"compute 10 ms, alltoall 32 KiB\"",
        ));
    }
    Ok(steps)
}

fn step(text: &str) -> Result<Step, Error> {
    let (name, value) = text.split_once(' ').unwrap_or((text, ""));
    let value = value.trim();
    let collective = COLLECTIVES.iter().find(|(known, _)| *known == name);
    match (name, collective) {
        ("compute", _) => quantity::duration(value).map(Step::Compute),
        ("wavefront", _) => wavefront(value),
        (_, Some(&(_, Kind::Barrier))) if value.is_empty() => {
            Ok(Step::Collective(Kind::Barrier, Bytes(0)))
        }
        (_, Some(&(_, Kind::Barrier))) => {
            Err(Error::new("`barrier` takes no size", "write \"barrier\" without a size"))
        }
        (_, Some(&(_, kind))) => quantity::bytes(value).map(|size| Step::Collective(kind, size)),
        (_, None) => {
            let known = COLLECTIVES.iter().map(|(name, _)| *name);
            let names: Vec<&str> = known.chain(["compute", "wavefront"]).collect();
            let help = format!("available: {}", nearest::list(&names));
            Err(Error::new(format!("unknown step `{name}`"), help))
        }
    }
}

/// `2 kB 1 ms`: the time is the last number with its unit.
fn wavefront(value: &str) -> Result<Step, Error> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let split = (1..words.len()).find_map(|at| {
        let size = quantity::bytes(&words[..at].join(" ")).ok()?;
        let time = quantity::duration(&words[at..].join(" ")).ok()?;
        Some(Step::Wavefront(size, time))
    });
    let form = "write the size and the time: \"wavefront 2 kB 1 ms\"";
    split.ok_or_else(|| Error::new(format!("invalid wavefront `{value}`"), form))
}

/// The notation of scenarios.
pub(crate) fn text(steps: &[Step]) -> String {
    let steps: Vec<String> = steps.iter().map(step_text).collect();
    steps.join(", ")
}

fn step_text(step: &Step) -> String {
    match *step {
        Step::Compute(time) => format!("compute {}", text::time(time)),
        Step::Wavefront(size, time) => {
            format!("wavefront {} {}", text::size(size), text::time(time))
        }
        Step::Collective(Kind::Barrier, _) => "barrier".to_owned(),
        Step::Collective(kind, size) => {
            let name = COLLECTIVES.iter().find(|(_, known)| *known == kind);
            let (name, _) = name.expect("every step was read by its name");
            format!("{name} {}", text::size(size))
        }
    }
}

#[cfg(test)]
mod tests {
    use base::Duration;

    use super::*;

    #[test]
    fn steps_read_back() {
        let written = "compute 2 s, burst 10000000 B, barrier, wavefront 2000 B 1 ms, halo 1 B";
        assert_eq!(text(&steps(written).unwrap()), written);
        let spaced = " compute 1s ,alltoall 32 KiB,, wavefront 2kB 1.5 ms";
        let read = [
            Step::Compute(Duration::from_secs(1)),
            Step::Collective(Kind::Alltoall, Bytes(32_768)),
            Step::Wavefront(Bytes(2_000), Duration::from_us(1_500)),
        ];
        assert_eq!(steps(spaced).unwrap(), read);
    }

    #[test]
    fn mistakes_are_reported() {
        let message = |text: &str| steps(text).unwrap_err().message;
        assert_eq!(message(" , "), "no steps");
        assert_eq!(message("alltoal 3 kB"), "unknown step `alltoal`");
        assert_eq!(message("barrier 3 kB"), "`barrier` takes no size");
        assert_eq!(message("wavefront 3 kB"), "invalid wavefront `3 kB`");
        assert!(steps("alltoall 3 ms").is_err() && steps("compute 3 kB").is_err());
    }
}
