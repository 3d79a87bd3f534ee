//! The state of a setting.

use std::io;

use serde::{Deserialize, Serialize};

use super::queue::{self, Tree};

/// The state of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// For people.
    pub shown: String,
    /// What restores it. States with the same text are the same.
    pub exact: String,
}

impl State {
    pub(in crate::policy) fn plain(text: impl Into<String>) -> Self {
        let exact: String = text.into();
        Self { shown: exact.split_whitespace().collect::<Vec<_>>().join(" "), exact }
    }

    pub(in crate::policy) fn switch(on: bool) -> Self {
        Self::plain(if on { "on" } else { "off" })
    }

    pub(in crate::policy) fn tree(tree: &Tree) -> Self {
        let exact = serde_json::to_string(tree).unwrap_or_default();
        Self { shown: tree.names.clone(), exact }
    }

    pub(in crate::policy) fn to_tree(&self) -> io::Result<Tree> {
        serde_json::from_str(&self.exact).map_err(io::Error::other)
    }

    /// Whether both restore the same.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.to_tree(), other.to_tree()) {
            (Ok(mine), Ok(theirs)) => mine.parts == theirs.parts,
            _ => self.exact == other.exact,
        }
    }

    /// The parts in which two states of disciplines differ, of each one; `None` if all of it does.
    pub(in crate::policy) fn differing(&self, other: &Self) -> Option<[String; 2]> {
        queue::differing(&self.to_tree().ok()?, &other.to_tree().ok()?)
    }
}
