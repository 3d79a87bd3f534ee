//! What the programs of MPI jobs may take from the kernel: phases, with the flow's congestion control and minimum timeout.

use applications::mpi::Phases;
use congestion::Config;

use super::super::setting::{MpiOptions, Setting, State};
use super::draft::{Draft, FlowEnd};
use crate::mpi;

pub(super) fn add(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>]) {
    let mut chosen: Option<(MpiOptions, String)> = None;
    for end in ends {
        let phases = end.tcp.workload.phases();
        let given = draft.place("flow", &end.flow.name, &["mpi", "phases"]);
        let Some(why) = given.filter(|_| phases != Phases::Off) else { continue };
        let word = if phases == Phases::Each { "each" } else { "collective" };
        draft.note(format!(
            "ranks take phases with: suimon mpi run --phases {word} -- mpirun ... ({why})"
        ));
        let options = options(draft, end);
        match &chosen {
            None => chosen = Some((options, why)),
            Some((other, _)) if *other == options => {}
            Some((other, first)) => {
                let what = format!(
                    "programs of MPI jobs cannot take {} ({why}) and {} ({first})",
                    options.shown(),
                    other.shown()
                );
                draft.problem(what, "give both flows the same congestion and rto.min with --set");
            }
        }
    }
    let Some((options, why)) = chosen else { return };
    if mpi::is_enabled() {
        let what = format!("options for MPI programs are enabled already ({why})");
        return draft.problem(what, "sudo suimon mpi disable");
    }
    let wanted = State { shown: options.shown(), ..State::switch(true) };
    draft.want(Setting::Mpi(options), wanted, why);
}

/// What the connections of the flow are asked to have. Its algorithm is one of Suimon's, by BPF.
fn options(draft: &Draft<'_>, end: &FlowEnd<'_>) -> MpiOptions {
    let config: Config = end.config.congestion;
    let given = draft.place("flow", &end.flow.name, &[end.table(), "rto", "min"]);
    MpiOptions {
        algorithm: config.algorithm().name().to_owned(),
        values: config.parameters().map(|(_, value)| value).collect(),
        rto_min_us: given.map(|_| end.config.rto.min.as_us()),
    }
}
