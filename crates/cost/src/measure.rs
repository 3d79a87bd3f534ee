//! The costs of cases, in time and in instructions.

use base::Fault;
use serde::Serialize;

use crate::case::Case;
use crate::instructions::{self, Instructions};
use crate::time::{self, Timed};

/// The cost of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// Its time.
    #[serde(flatten)]
    pub timed: Timed,
    /// Its instructions; none if this machine cannot count them.
    pub instructions: Option<Instructions>,
}

/// Costs, and why instructions were not counted.
#[derive(Clone, Debug, Serialize)]
pub struct Costs {
    /// In the order of the cases.
    pub cases: Vec<Cost>,
    /// Why instructions were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_counted: Option<String>,
}

/// Times every case, and counts its instructions if this machine can. Calls `timed` after each.
///
/// # Errors
/// A load that does not fit its discipline.
pub fn measure(
    cases: Vec<Case>,
    rounds: usize,
    instructions: bool,
    timed: impl Fn(),
) -> Result<Costs, Fault> {
    let times = cases.iter().map(|case| time::measure(case, rounds).inspect(|_| timed()));
    let times = times.collect::<Result<Vec<_>, _>>()?;
    let (counted, not_counted) =
        match instructions.then(|| instructions::count(&cases, &["cost", "--carry"])) {
            Some(Ok(counted)) => (counted.into_iter().map(Some).collect(), None),
            Some(Err(why)) => (vec![None; cases.len()], Some(why)),
            None => (vec![None; cases.len()], None),
        };
    let costs = cases.into_iter().zip(times).zip(counted);
    let cost = |((case, timed), instructions)| Cost { case, timed, instructions };
    Ok(Costs { cases: costs.map(cost).collect(), not_counted })
}
