//! The settings of `psp`, and the reasons to refuse them.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::classify::{Filter, Rule};
use crate::discipline::Port;
use crate::qdisc::fifo;
use crate::tree::{self, Branch, Holder, Tree};
use base::setting::{Field, Kind, Value, settings};
use base::subject::Subject;
use base::units::Rate;

/// The rate of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacingRate {
    /// This rate.
    Given(Rate),
    /// The measured rate of the class's path; the line's rate while the path passes all packets.
    Measured,
}

impl PacingRate {
    /// The given rate, if there is one.
    pub const fn given(self) -> Option<Rate> {
        match self {
            Self::Given(rate) => Some(rate),
            Self::Measured => None,
        }
    }
}

impl From<Rate> for PacingRate {
    fn from(rate: Rate) -> Self {
        Self::Given(rate)
    }
}

impl Field for PacingRate {
    const KIND: Option<Kind> = Some(Kind::RateOrMeasured);
    type Measure = Rate;
    fn to_value(&self) -> Option<Value> {
        Some(self.given().map_or(Value::Measured, Value::Rate))
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Rate(rate) => Some(Self::Given(rate)),
            Value::Measured => Some(Self::Measured),
            _ => None,
        }
    }
}

settings! {
    required: rate;
    /// A bottleneck on the path of some packets, and the rate at which they are sent.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// The class that limits this one and its siblings together; `None` if only the link does.
        pub parent: Option<String>,
        /// Rate in frame bits: header and FCS counted, preamble and gap not; or measured from the ACKs that return
        /// through the port.
        pub rate: PacingRate,
        /// FIFO queue of the class; unused in a class with children.
        pub queue: fifo::Parameters,
    }
}

impl Default for Class {
    /// The lowest rate. The key is required, so no run uses it.
    fn default() -> Self {
        let queue = fifo::Parameters::default();
        Self { name: String::new(), parent: None, rate: Rate::MIN.into(), queue }
    }
}

settings! {
    classes: Class;
    /// The classes and the filters that assign packets to them.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Rate of all packets, in frame bits or measured, in place of classes; none unless given.
        pub rate: Option<PacingRate>,
        /// The classes. Packets queue in classes without children.
        pub classes: Vec<Class>,
        /// The filters in matching order; a packet without a match is unclassified.
        pub filters: Vec<Rule>,
        /// FIFO queue of unclassified packets, which are sent whenever no packet of a class is due.
        pub unclassified: fifo::Parameters,
        /// Whether gap frames occupy the link between packets. Otherwise the driver's timer spaces them, which may be
        /// late.
        pub gaps: bool,
    }
}

impl Default for Parameters {
    /// Gap frames on, and neither a rate nor classes. One of these must be given.
    fn default() -> Self {
        let unclassified = fifo::Parameters::default();
        Self { rate: None, classes: Vec::new(), filters: Vec::new(), unclassified, gaps: true }
    }
}

impl Parameters {
    /// Everything in one class, `all`, paced with gap frames to `rate`, as paper 0, section 3.2, does with
    /// `tc qdisc add dev eth0 root ipg rate ...`.
    pub fn single(rate: impl Into<PacingRate>) -> Self {
        let rate = rate.into();
        let name = String::from("all");
        let queue = fifo::Parameters::default();
        Self {
            filters: vec![Rule { filter: Filter::default(), priority: 0, class: name.clone() }],
            classes: vec![Class { name, parent: None, rate, queue }],
            ..Self::default()
        }
    }

    /// These parameters with a class instead of a rate for everything.
    ///
    /// # Errors
    ///
    /// An error if there are both a rate and classes.
    pub fn in_classes(&self) -> Result<Cow<'_, Self>, Error> {
        let Some(rate) = self.rate else { return Ok(Cow::Borrowed(self)) };
        if let Some(class) = self.classes.first() {
            return Err(Error::RateAndClasses(class.name.clone()));
        }
        let Self { unclassified, gaps, .. } = *self;
        Ok(Cow::Owned(Self { unclassified, gaps, ..Self::single(rate) }))
    }
}

/// Why parameters are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Both a rate for everything and classes are given.
    #[error(
        "both a rate and the class `{0}`: give either `rate` for all packets, or classes with their own rates"
    )]
    RateAndClasses(String),
    /// The classes' names or filters make no sense.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// A class's rate is above that of its parent or the link.
    #[error("class `{class}` has {rate}, but {within} has only {has}: lower the class's rate")]
    Above {
        /// The class.
        class: String,
        /// Its rate.
        rate: Rate,
        /// Its parent, or the link.
        within: Holder,
        /// The rate of the parent or the link.
        has: Rate,
    },
    /// Siblings are promised more than their parent or the link has.
    #[error(
        "the classes {children} have {promised} together, but {within} has only {has}: lower their \
         rates by {excess} in all"
    )]
    Promise {
        /// The siblings' names.
        children: String,
        /// The sum of their rates.
        promised: String,
        /// The parent, or the link.
        within: Holder,
        /// The rate of that.
        has: Rate,
        /// The excess.
        excess: String,
    },
    /// A class measures its rate, and has children.
    #[error(
        "the class `{0}` has children, and only a class without children can measure its rate: give it a rate, \
         or let its children measure theirs"
    )]
    MeasuredParent(String),
    /// A queue's limits make no sense.
    #[error("the queue of `{class}`: {error}")]
    Queue {
        /// The class.
        class: String,
        /// The reason for the refusal.
        error: fifo::Error,
    },
    /// The reason for the refusal, for the unclassified packets.
    #[error("the queue of unclassified packets: {0}")]
    Unclassified(fifo::Error),
}

impl Error {
    /// The subject of the error.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::RateAndClasses(_) => Subject::settings(&["rate"]),
            Self::Tree(error) => error.subject(),
            Self::Above { class, .. } | Self::MeasuredParent(class) => {
                Subject::class(class).at(&["rate"])
            }
            Self::Promise { within, .. } => within.subject(),
            Self::Queue { class, .. } => Subject::class(class).at(&["queue", "packets", "bytes"]),
            Self::Unclassified(_) => Subject::settings(&["unclassified"]),
        }
    }
}

/// Resolves the names and checks the sums.
pub(super) fn check(parameters: &Parameters, port: Port) -> Result<Tree, Error> {
    let classes = &parameters.classes;
    let branches: Vec<_> = classes
        .iter()
        .map(|class| Branch { name: &class.name, parent: class.parent.as_deref() })
        .collect();
    let mut tree = Tree::new(&branches, &parameters.filters)?;
    tree.classifier.target_unmatched();
    check_rates(classes, &tree, port.rate)?;
    check_queues(parameters, port)?;
    Ok(tree)
}

fn names<'a>(classes: impl Iterator<Item = &'a Class>) -> String {
    tree::list(classes.map(|class| class.name.as_str()))
}

fn check_rates(classes: &[Class], tree: &Tree, link: Rate) -> Result<(), Error> {
    for parent in core::iter::once(None).chain((0..classes.len()).map(Some)) {
        let siblings = parent.map_or(&tree.tops, |index| &tree.children[index]);
        let has = match parent.map(|index| &classes[index]) {
            None => link,
            Some(Class { rate: PacingRate::Given(rate), .. }) => *rate,
            Some(_) if siblings.is_empty() => continue,
            Some(class) => return Err(Error::MeasuredParent(class.name.clone())),
        };
        let siblings = siblings.iter().map(|&index| &classes[index]);
        let within = || Holder::of(parent.map(|index| classes[index].name.as_str()));
        let given = || siblings.clone().filter_map(|class| Some((class, class.rate.given()?)));
        if let Some((class, rate)) = given().find(|&(_, rate)| rate > has) {
            return Err(Error::Above { class: class.name.clone(), rate, within: within(), has });
        }
        let rates = given().map(|(_, rate)| u128::from(rate.bits_per_second()));
        let promised: u128 = rates.sum();
        let excess = promised.saturating_sub(has.bits_per_second().into());
        if excess > 0 {
            let (promised, excess) = (tree::sum_text(promised), tree::sum_text(excess));
            let (children, within) = (names(siblings), within());
            return Err(Error::Promise { children, promised, within, has, excess });
        }
    }
    Ok(())
}

fn check_queues(parameters: &Parameters, port: Port) -> Result<(), Error> {
    for class in &parameters.classes {
        fifo::check(&class.queue, port)
            .map_err(|error| Error::Queue { class: class.name.clone(), error })?;
    }
    fifo::check(&parameters.unclassified, port).map_err(Error::Unclassified)
}
