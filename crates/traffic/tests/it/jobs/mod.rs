//! The guarantees of JoBS, with feasible and with infeasible arrivals; and the parameters that it refuses.

mod arrivals;
mod feasible;
mod guarantees;
mod link;
mod proportions;
mod refusals;
mod relaxation;
