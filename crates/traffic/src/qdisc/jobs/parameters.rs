//! The settings of `jobs`, and the reasons to refuse them.

use alloc::string::String;
use alloc::vec::Vec;

use crate::classify::{Classifier, Rule};
use crate::discipline::Port;
use crate::qdisc::fifo;
use crate::tree::{self, Branch, Tree};
use base::setting::{errors, in_range, settings};
use base::subject::Subject;
use base::units::{Bytes, Duration, Rate, Share};

/// The maximum number of classes, as in ALTQ: each packet costs a look at every class.
pub const CLASSES_MAX: usize = 16;
/// The range of relative delays and losses.
pub const RELATIVE: core::ops::RangeInclusive<u32> = 1..=1_000;

settings! {
    /// A class and its guarantees. If guarantees of delay or rate cannot all hold, or none of loss, the guarantee of
    /// the class listed last is relaxed first.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// Always `None`: these classes are not nested.
        pub parent: Option<String>,
        /// Maximum queueing delay, to within the serialisation time of one frame; no bound unless given. Packets that
        /// would wait longer are dropped on arrival as far as `loss` allows.
        #[range(Duration::from_ps(1)..)]
        pub delay: Option<Duration>,
        /// Share of its bytes that may be dropped, over the last 32 to 64 MiB of them; any unless given.
        pub loss: Option<Share>,
        /// Minimum rate, in frame bits, while the class has packets; none unless given.
        pub rate: Option<Rate>,
        /// Weight of the class in proportional delay: the delays of all such classes are in this ratio, as far as
        /// other guarantees allow; in no proportion unless given.
        #[range(RELATIVE)]
        pub relative_delay: Option<u32>,
        /// Weight of the class in proportional loss: the loss shares of all such classes are in this ratio, as far as
        /// other guarantees allow; in no proportion unless given.
        #[range(RELATIVE)]
        pub relative_loss: Option<u32>,
    }
}

settings! {
    classes: Class;
    /// The classes, the filters that assign packets to them, and the buffer.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Maximum packets queued; 1000 unless given.
        #[range(1..)]
        pub packets: u64,
        /// Maximum bytes queued, in frame lengths; no limit unless given.
        pub bytes: Option<Bytes>,
        /// Whether each class has a separate buffer of that size; one for all unless given. A full separate buffer
        /// accepts no packet, despite any loss guarantee of the class.
        pub separate: bool,
        /// 1 to 16 classes, in the order in which their guarantees take precedence.
        pub classes: Vec<Class>,
        /// The filters in matching order.
        pub filters: Vec<Rule>,
        /// Class for packets that no filter matches; the last one unless given.
        pub default_class: Option<String>,
    }
}

impl Default for Parameters {
    /// A shared buffer of an interface queue's size.
    fn default() -> Self {
        Self {
            packets: 1_000,
            bytes: None,
            separate: false,
            classes: Vec::new(),
            filters: Vec::new(),
            default_class: None,
        }
    }
}

impl Parameters {
    pub(super) fn limits(&self) -> fifo::Parameters {
        fifo::Parameters { packets: Some(self.packets), bytes: self.bytes }
    }
}

errors! {
    /// Why parameters are refused. Guarantees that together exceed the link are allowed: JoBS has no admission
    /// control, and reports when it relaxes them.
    pub enum Error from {
        /// The names of classes and filters do not fit together.
        Tree(tree::Error),
        /// The buffer.
        Buffer(fifo::Error),
    } or {
        /// Each packet costs a look at every class.
        #[error("{0} classes: give at most {CLASSES_MAX}")]
        TooMany(usize),
        /// A class has a parent, but these classes have no hierarchy.
        #[error("class `{0}` has a parent, but these classes are not nested: remove its parent")]
        Parent(String),
        /// The class for unclassified packets does not exist.
        #[error("the default class `{class}` does not exist: name one of {known}")]
        UnknownDefault {
            /// The name given.
            class: String,
            /// The existing names.
            known: String,
        },
        /// The guaranteed rate is above the link's.
        #[error("class `{class}` is guaranteed {rate}, but the link has {link}: lower its rate")]
        Rate {
            /// The class.
            class: String,
            /// Its rate.
            rate: Rate,
            /// The link's.
            link: Rate,
        },
        /// Only one class has a relative number, so there is no proportion.
        #[error(
            "class `{class}` alone has a relative {what}: give another class one too, or remove it"
        )]
        Alone {
            /// The class.
            class: String,
            /// `delay` or `loss`.
            what: &'static str,
        },
        /// With separate buffers, JoBS does not choose the class that loses.
        #[error(
            "class `{0}` has a relative loss, but a separate buffer per class decides alone: share the buffer, or \
             remove the relative loss"
        )]
        Separate(String),
    } at {
        Self::TooMany(_) => Subject::WHOLE,
        Self::Parent(class) => Subject::class(class).at(&["parent"]),
        Self::UnknownDefault { .. } => Subject::settings(&["default_class"]),
        Self::Rate { class, .. } => Subject::class(class).at(&["rate"]),
        Self::Alone { class, what: "delay" } => Subject::class(class).at(&["relative_delay"]),
        Self::Alone { class, .. } | Self::Separate(class) => {
            Subject::class(class).at(&["relative_loss"])
        }
    }
}

/// Checks the numbers, and resolves the filters and the default class.
pub(super) fn check(parameters: &Parameters, port: Port) -> Result<(Classifier, usize), Error> {
    let Parameters { classes, filters, default_class, separate, .. } = parameters;
    in_range(parameters)?;
    fifo::check(&parameters.limits(), port)?;
    if classes.len() > CLASSES_MAX {
        return Err(Error::TooMany(classes.len()));
    }
    let branches: Vec<_> =
        classes.iter().map(|class| Branch { name: &class.name, parent: None }).collect();
    let classifier = Tree::new(&branches, filters)?.classifier;
    for class in classes {
        check_class(class, port.rate)?;
    }
    check_relative(classes, "delay", |class| class.relative_delay)?;
    check_relative(classes, "loss", |class| class.relative_loss)?;
    if let Some(class) = classes.iter().find(|class| *separate && class.relative_loss.is_some()) {
        return Err(Error::Separate(class.name.clone()));
    }
    let Some(name) = default_class else { return Ok((classifier, classes.len() - 1)) };
    match classes.iter().position(|class| class.name == *name) {
        Some(default) => Ok((classifier, default)),
        None => {
            let known = tree::list(classes.iter().map(|class| class.name.as_str()));
            Err(Error::UnknownDefault { class: name.clone(), known })
        }
    }
}

fn check_class(class: &Class, link: Rate) -> Result<(), Error> {
    let name = || class.name.clone();
    if class.parent.is_some() {
        Err(Error::Parent(name()))
    } else if let Some(rate) = class.rate.filter(|&rate| rate > link) {
        Err(Error::Rate { class: name(), rate, link })
    } else {
        Ok(())
    }
}

/// Refuses a relative number that only one class has: such numbers are proportions between classes.
fn check_relative(
    classes: &[Class],
    what: &'static str,
    number: fn(&Class) -> Option<u32>,
) -> Result<(), Error> {
    let mut given = classes.iter().filter(|class| number(class).is_some());
    match (given.next(), given.next()) {
        (Some(class), None) => Err(Error::Alone { class: class.name.clone(), what }),
        _ => Ok(()),
    }
}
