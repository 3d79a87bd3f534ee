//! Classes in the order of their priorities, the highest first; all priorities differ.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use base::subject::Subject;

/// Why priorities are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Two classes have the same priority.
    #[error(
        "the classes `{first}` and `{second}` both have priority {priority}: give each its own"
    )]
    Same {
        /// A class.
        first: String,
        /// The other class.
        second: String,
        /// The shared priority.
        priority: u32,
    },
}

impl Error {
    /// The subject of the error.
    pub fn subject(&self) -> Subject<'_> {
        let Self::Same { second, .. } = self;
        Subject::class(second).at(&["priority"])
    }
}

/// Classes, numbered in the given order, and their order.
#[derive(Debug)]
pub(super) struct Priorities {
    priorities: Vec<u32>,
    order: Vec<usize>,
}

impl Priorities {
    /// The order of classes with these names and priorities.
    pub(super) fn new(classes: &[(&str, u32)]) -> Result<Self, Error> {
        for (index, &(class, priority)) in classes.iter().enumerate() {
            if let Some(other) = classes[..index].iter().find(|other| other.1 == priority) {
                let (first, second) = (other.0.into(), class.into());
                return Err(Error::Same { first, second, priority });
            }
        }
        let priorities = classes.iter().map(|class| class.1).collect();
        let mut all = Self { priorities, order: Vec::new() };
        all.arrange();
        Ok(all)
    }

    /// Appends the classes that had the numbers `leaving` in `old`.
    pub(super) fn extend(&mut self, old: &Self, leaving: &[usize]) {
        self.priorities.extend(leaving.iter().map(|&was| old.priorities[was]));
        self.arrange();
    }

    /// Sorts the classes. Of two with the same priority, the removed one goes first: its packets are older.
    fn arrange(&mut self) {
        self.order = (0..self.priorities.len()).collect();
        let priorities = &self.priorities;
        self.order.sort_unstable_by_key(|&class| Reverse((priorities[class], class)));
    }

    /// The classes, the most urgent first.
    #[inline]
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }
}
