//! What a run leaves behind, in one executable: most of a test's building is linking.

mod capture;
#[path = "../scene/mod.rs"]
mod scene;
mod summary;
mod tables;
