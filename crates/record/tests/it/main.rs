//! Tests of a run's files, in one executable: most of a test's build time is linking.

mod capture;
#[path = "../scene/mod.rs"]
mod scene;
mod summary;
mod tables;
