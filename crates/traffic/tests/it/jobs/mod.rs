//! What JoBS promises, held against arrivals that can and that cannot be served so; and what it refuses.

mod arrivals;
mod feasible;
mod guarantees;
mod link;
mod proportions;
mod refusals;
mod relaxation;
