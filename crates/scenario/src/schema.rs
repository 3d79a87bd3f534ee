//! The JSON Schema of scenario files, for editors and for [`crate::structure`].

use std::sync::OnceLock;

use serde_json::Value;

/// The schema, generated from the structs that read the file.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(crate::file::Scenario).to_value())
}
