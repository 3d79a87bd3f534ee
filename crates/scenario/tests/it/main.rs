//! Scenarios read, refused and written out, in one executable, because linking dominates the build time of tests.

mod arbitrary;
mod catalogue;
mod ends;
mod errors;
mod errors_of_conditioners;
mod errors_of_flows;
mod examples;
mod interfaces;
mod lock;
mod minimal;
mod nodes;
mod overrides;
mod physics;
mod quantities;
mod reference;
#[path = "../said/mod.rs"]
mod said;
mod settings;
mod switches;
mod topologies;
#[path = "../../../traffic/tests/drawn/values.rs"]
mod values;
mod workloads;
