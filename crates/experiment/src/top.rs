//! What `suimon top` shows: rates of classes and flows, of a run in progress, a finished run, a router or this machine.

pub mod configured;
pub mod history;
pub mod host;
pub mod lines;
pub mod replay;
pub mod socket;
pub mod source;
