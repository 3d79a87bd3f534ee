//! A paper's costs, measured as `suimon cost` does.

use experiment::format;
use experiment::paper::{CostCase, Paper, PaperRuns};
use serde::Deserialize;
use serde_json::json;

use crate::failure::Failure;
use crate::{cost, output};
use ::cost::Case;

/// Number of rounds; the best one counts.
const ROUNDS: usize = 5;

fn case(cost: &CostCase) -> Result<Case, toml::de::Error> {
    Case::deserialize(toml::Value::Table(cost.case.clone()))
}

/// Refuses a paper with a load that cannot be measured.
pub(super) fn check(paper: &Paper) -> Result<(), Failure> {
    for cost in &paper.cost_cases() {
        case(cost).map_err(|error| paper.error(&format!("cost `{}`: {error}", cost.name)))?;
    }
    Ok(())
}

/// Measures all costs, if they are to be measured now.
pub(super) fn measure(runs: &mut PaperRuns, quiet: bool) -> Result<(), Failure> {
    // `check` has made sure that all are valid.
    let cases: Vec<Case> = runs.cost_cases().iter().filter_map(|cost| case(cost).ok()).collect();
    if cases.is_empty() {
        return Ok(());
    }
    if !quiet {
        let loads = format::count(cases.len(), "load");
        output::note(&format!("measuring the cost per packet of {loads}"));
    }
    let costs = cost::measure(cases, ROUNDS, true, quiet)?;
    if let Some(why) = &costs.not_counted {
        output::note(&format!("instructions are left out: {why}"));
    }
    runs.set_costs(costs.cases.iter().map(|cost| json!(cost)).collect());
    Ok(())
}

#[cfg(test)]
mod tests {
    use experiment::paper::{PaperOptions, papers};

    use super::*;

    #[test]
    fn every_load_of_a_paper_can_be_measured() {
        let mut loads = 0;
        for name in papers() {
            let paper = Paper::new(name, PaperOptions::default()).expect(name);
            check(&paper).expect(name);
            loads += paper.cost_cases().len();
        }
        assert!(loads > 0);
    }

    #[test]
    fn what_is_measured_has_the_names_that_papers_use() {
        let case = toml::from_str("queue = 'drr'\nload = { classes = 2, flows = 4, backlog = 1 }");
        let case = super::case(&CostCase { name: "fair".into(), case: case.expect("TOML") });
        let costs = cost::measure(vec![case.expect("right")], 1, false, true).expect("measured");
        let cost = json!(costs.cases[0]);
        assert_eq!(cost["flows"], 4);
        assert!(cost["nanoseconds"]["best"].as_f64().is_some_and(|best| best > 0.0));
        assert!(cost["instructions"].is_null(), "none was counted");
    }
}
