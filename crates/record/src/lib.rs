//! Results: what a run measured, as files in formats that common tools open.
//!
//! Pages and charts of it are made by `report`, which drivers do not depend on. A driver counts [`totals`], shows
//! events to a [`Recorder`], and sums up in a [`Summary`]; a [`RunFolder`] holds it all. Every driver fills the same
//! folder, so runs can be compared.
//!
//! Same seed, same bytes: in a simulated run no clock, processor or machine shows in any file except `manifest.json`.

pub mod capture;
pub mod delays;
pub mod error;
pub mod expectation;
pub mod folder;
pub mod guest;
pub mod lab;
pub mod manifest;
pub mod meter;
pub mod paper;
pub mod quantity;
pub mod recorder;
pub mod regular;
pub mod rows;
pub mod steering;
pub mod stored_run;
pub mod stored_table;

pub mod summary;
pub mod sweep_table;
pub mod table;
pub mod totals;
pub mod view;
pub mod wire;

mod bandwidth;
mod parquet_file;
mod pauses;
mod pcapng;
mod provenance;
mod ranks;
mod sequence;

pub use base::histogram::Histogram;
pub use delays::{AllDelays, Delays};
pub use error::Error;
pub use expectation::{Verdict, judge, judge_quantities};
pub use folder::{Files, RunFolder};
pub use lab::{HostStalls, LabPort, LabReport, Lateness, Spoiled};
pub use manifest::Manifest;
pub use provenance::Provenance;
pub use recorder::{Recorder, Recording};
pub use rows::{
    BandwidthRow, ClassRow, DelayRow, FlowRow, Name, Names, NotificationRow, PauseRow, QueueRow,
    RankRow, SequenceRow, TableRow,
};
pub use steering::Steering;
pub use stored_run::StoredRun;
pub use stored_table::StoredTable;
pub use summary::Summary;
pub use table::Table;
pub use totals::{Cost, Drops, Ending, EngineTotals, FlowTotals, PortTotals, Totals};
