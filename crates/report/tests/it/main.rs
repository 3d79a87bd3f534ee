//! Reports and run folders, in one executable: most of a test's building is linking.

mod folder;
mod pauses;
mod ranks;
mod report;
#[path = "../../../record/tests/scene/mod.rs"]
mod scene;
