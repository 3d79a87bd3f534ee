//! Nodes without I/O or clock (hosts, routers and their kinds, switches), and the links between them.
//!
//! A node does not know which driver runs it. The driver passes packets and time to it, and takes packets from it:
//! `receive`, `transmit`, `next_wakeup`, `wake`.

// Parameters are declared by `base::setting::settings`.
extern crate alloc;

pub mod application;
#[cfg(debug_assertions)]
pub mod audit;
pub mod balancer;
mod behaviour;
mod context;
mod credits;
pub mod custody;
pub mod datagram;
mod departure;
mod device;
pub mod emulator;
pub mod flow_control;
mod flow_table;
pub mod forwarding;
mod guard;
pub mod headroom;
pub mod host;
pub mod impairment;
pub mod ingress;
pub mod invalid;
pub mod link;
pub mod node;
pub mod observer;
pub mod policer;
pub mod port;
pub mod reaction_point;
pub mod router;
pub mod schedule;
pub mod switch;
mod timer;
pub mod trace;

pub use application::Application;
pub use behaviour::{Behaviour, MACHINE, NodeConfig, Parts};
pub use context::{Context, Egress};
pub use custody::Owner;
pub use guard::Breach;
pub use node::Node;
pub use observer::{Event, Observer, PortId};
pub use port::Port;
pub use schedule::Schedule;
