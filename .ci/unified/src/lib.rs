//! Features alone: see Cargo.toml.
