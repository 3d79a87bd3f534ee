//! Tests of ports, links, switches and applications, in one executable: most of a test's build time is linking.

mod balancer;
mod congestion;
mod custody;
mod device;
mod diverted;
#[path = "../../../traffic/tests/drawn/mod.rs"]
mod drawn;
mod event_builder;
#[path = "../wire/mod.rs"]
mod far_side;
mod flow_control;
mod gemodel;
mod impairments;
mod ingress;
mod mpi;
mod settings;
mod switch;
mod timer;
#[path = "../../../traffic/tests/drawn/values.rs"]
mod values;
mod voip;
#[path = "../../../traffic/tests/wire/mod.rs"]
mod wire;
