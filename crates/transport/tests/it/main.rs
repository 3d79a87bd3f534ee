//! Connections over a path in the test's hand, in one executable: most of a test's building is linking.

mod applications;
mod bottleneck;
#[allow(dead_code, reason = "each test uses its part")]
#[path = "../pipe/mod.rs"]
mod pipe;
mod scripts;
mod transfer;
