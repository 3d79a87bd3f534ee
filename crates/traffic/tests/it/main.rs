//! Every law of disciplines, classifiers, meters and conditioners, in one executable: most of a test's building is linking.

mod aqm_references;
mod arithmetic;
mod assigned;
mod cbq;
mod cbq_refusals;
mod classify;
mod condition;
mod delivery;
#[path = "../drawn/mod.rs"]
mod drawn;
mod fairness;
#[path = "../fluid/mod.rs"]
mod fluid;
mod header;
mod hfsc;
mod hold;
mod jobs;
mod laws;
mod lone_class;
mod meter;
mod pacing;
mod paper_formula;
mod ports;
mod refusals;
mod reservations;
mod settings;
mod tbr;
#[path = "../drawn/values.rs"]
mod values;
#[path = "../wire/mod.rs"]
mod wire;
