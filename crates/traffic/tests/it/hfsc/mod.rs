//! The laws of `hfsc`, over random trees, curves and arrivals, from 9600 bit/s to 800 Gbit/s,
//! against fluid curves computed here in 128 bits; and what it refuses.

mod curves;
mod guarantees;
mod limits;
mod refusals;
mod reservations;
mod run;
mod shares;
