//! Tests of ports, links and switches, in one executable: most of a test's build time is linking.

mod balancer;
mod congestion;
mod custody;
mod device;
mod diverted;
#[path = "../../../traffic/tests/drawn/mod.rs"]
mod drawn;
#[path = "../wire/mod.rs"]
mod far_side;
mod flow_control;
mod gemodel;
mod impairments;
mod ingress;
mod switch;
mod timer;
#[path = "../../../traffic/tests/wire/mod.rs"]
mod wire;
