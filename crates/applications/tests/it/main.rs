//! Tests of applications, and of settings of hosts and impairments, in one executable: most of a test's build time is
//! linking.

mod event_builder;
mod mpi;
mod settings;
#[path = "../../../traffic/tests/drawn/values.rs"]
mod values;
mod voip;
