//! A scenario: text in, a plan out.
//!
//! A [`Document`] is a file with the overrides of the command line. [`Document::plan`] resolves every name, default
//! and quantity, and returns all problems as [`Errors`], each with its place.

extern crate alloc;

mod action;
mod address;
mod aliases;
pub mod capability;
pub mod catalogue;
mod classes;
mod column;
mod command;
mod condition;
mod congestion;
mod data_file;
mod demand;
mod diagnostic;
mod distribution;
mod document;
mod file;
mod filter;
mod grid;
mod header;
mod impairment;
mod included;
mod inputs;
mod joining;
mod literal;
mod lock;
mod matrix;
mod measure;
mod mpi;
mod nearest;
mod node;
mod physics;
pub mod plan;
pub mod quantity;
mod queue;
mod range;
mod resolve;
mod scale_rates;
mod schema;
mod setting;
mod structure;
mod syntax;
mod tcp;
mod templates;
mod tolerance;

mod topology;
mod trace;
mod units;
mod value;
mod workload;

pub use column::{column, setting_column};
pub use diagnostic::{Diagnostic, Errors};
pub use document::{Document, Place, Run, assigned_path, queue, value_label};
pub use inputs::{Input, Mean, inputs};
pub use lock::lock;
pub use measure::{Dimension, Measure, measure};
pub use mpi::TRACES;
pub use mpi::recorded::read as read_trace;
pub use physics::{Hop, Kind, Path, Warning, idle_seeds, paced, path, physics};
pub use plan::Plan;
pub use schema::schema;
pub use templates::{TEMPLATES, Template, template, without_schema};
pub use units::{Unit, Units, digits, significant};
