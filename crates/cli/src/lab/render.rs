//! A running network as text.

use experiment::format;
use experiment::networks::{DropState, EmulatorState, State};
use record::Lateness;
use scenario::Unit;

use crate::table::Table;

/// The state as text.
pub(super) fn shown(state: &State) -> String {
    let State { name, scenario, pid, seconds, .. } = state;
    let mut table = Table::new(&["host", "address", "program", "state"]);
    for host in &state.hosts {
        let (name, address) = (host.name.clone(), host.address.to_string());
        let Some((first, others)) = host.programs.split_first() else {
            table.row([name.into(), address.into()]);
            continue;
        };
        let cells = [name, address, first.command.clone(), first.state.clone()];
        table.row(cells.map(Into::into));
        for program in others {
            let cells = ["".into(), "".into(), program.command.clone(), program.state.clone()];
            table.row(cells.map(|text: String| text.into()));
        }
    }
    let heading = format!("{name}: {scenario}, up for {seconds} s, process {pid}\n");
    heading + &table.render()
}

/// Its drops and lateness, as text.
pub(super) fn traffic_shown(state: &State) -> String {
    let mut table = Table::new(&["drops at", "packets", "reason"]);
    for DropState { at, packets, reason } in &state.drops {
        table.row([at.clone().into(), packets.to_string().into(), reason.clone().into()]);
    }
    let drops = if state.drops.is_empty() { "no drops\n".into() } else { table.render() };
    drops + &state.emulator.as_ref().map_or_else(String::new, of_emulator)
}

/// The state as text.
fn of_emulator(emulator: &EmulatorState) -> String {
    let Lateness { p50_ns, p99_ns, max_ns } = emulator.lateness;
    let [p50, p99, max] =
        [p50_ns, p99_ns, max_ns].map(|ns| Unit::MILLISECOND.text(ns as f64 / 1e9));
    let missed = format::count(emulator.missed_frames as usize, "frame");
    let verdict = if emulator.kept_up { "" } else { ": did not keep up, do not trust the results" };
    format!(
        "packets late: p50 {p50}, p99 {p99}, max {max}; {missed} lost by this machine{verdict}\n"
    )
}
