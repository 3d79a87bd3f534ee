//! An MPI job as the workload of flows: every two of its ranks share one.

use base::setting::{Setting, Settings, Value};

use super::rank::Job;
use crate::application::ActivePeriod;
use crate::invalid::Invalid;
use crate::results::Kind;
use crate::sink::Reader;
use crate::workload::config::{self, Applications};

/// The settings of a job are those of its library.
impl Settings for Job {
    fn settings(&self) -> Vec<Setting> {
        self.library.settings()
    }

    fn get(&self, name: &str) -> Option<Value> {
        self.library.get(name)
    }

    fn set(&mut self, name: &str, value: Value) -> bool {
        self.library.set(name, value)
    }

    fn doc(&self) -> &'static str {
        self.library.doc()
    }
}

impl config::Config for Job {
    fn title(&self) -> &'static str {
        "mpi"
    }

    fn check(&self) -> Result<(), Invalid> {
        self.library.check()
    }

    /// Two ranks.
    fn applications(&self, span: ActivePeriod, _: Reader, _: (u64, &str)) -> Applications {
        let ranks = self.ranks(span, 2);
        [Box::new(ranks[0].clone()), Box::new(ranks[1].clone())]
    }

    fn excludes(&self) -> &'static [&'static str] {
        &["load", "stop"]
    }

    fn both_write(&self) -> bool {
        true
    }

    fn results(&self) -> Option<Kind> {
        Some(Kind::Ranks)
    }

    fn nagle(&self) -> bool {
        false
    }
}
