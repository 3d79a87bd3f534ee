//! Each growth law against the formulas and tables of its RFC or paper.
//!
//! The tests may use floating point: they state what the integers of the algorithms approximate.

mod bbr;
mod bbr3;
mod bic;
mod bottleneck;
mod cubic;
mod cubic_rfc9438;
mod dctcp;
mod highspeed;
mod hystart;
mod hystartpp;
mod illinois;
mod invariants;
mod newreno;
mod path;
mod phases;
mod restart;
mod scalable;
mod scalable50;
mod sluice;
mod vegas;
