//! Connections over a path in the test's hand, in one executable: most of a test's building is linking.

mod applications;
mod bottleneck;
#[path = "../pipe/mod.rs"]
mod pipe;
mod scripts;
mod transfer;
