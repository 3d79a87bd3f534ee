//! Transfers between two ends in this process, over loopback.

mod hostile;
mod interrupted;
mod moved;
mod world;
