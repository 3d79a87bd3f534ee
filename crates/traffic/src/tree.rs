//! A tree of classes by their names: parents and filters are resolved to indices, and checked. Disciplines
//! with classes share it; what a class has besides, a rate or a curve, is specific to each discipline.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::classify::{self, Classifier, Resolved, Rule};
use base::subject::Subject;
use base::units::Rate;

/// A class as the tree sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch<'a> {
    /// The class's name.
    pub name: &'a str,
    /// The parent's name; `None` at the top.
    pub parent: Option<&'a str>,
}

/// Why a tree is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There are no classes.
    #[error("no classes: give at least one, or use a discipline without, such as fifo")]
    NoClass,
    /// Two classes have the same name.
    #[error("two classes are named `{0}`: give each a different name")]
    DuplicateName(String),
    /// The parent does not exist.
    #[error("class `{class}` has the parent `{parent}`, which does not exist: {help}")]
    UnknownParent {
        /// The class.
        class: String,
        /// The name it gives.
        parent: String,
        /// The permitted names.
        help: String,
    },
    /// A class is its own ancestor.
    #[error("class `{0}` is its own ancestor: remove a parent from the cycle")]
    Cycle(String),
    /// A filter leads nowhere.
    #[error(
        "filter {index} leads to the class `{class}`, which does not exist: name one of {known}"
    )]
    UnknownClass {
        /// The filter's place in the list, from 1.
        index: usize,
        /// The name it gives.
        class: String,
        /// The existing names.
        known: String,
    },
    /// A filter makes no sense.
    #[error("in filter {index} {error}")]
    Filter {
        /// The filter's place in the list, from 1.
        index: usize,
        /// The reason.
        error: classify::Error,
    },
    /// A filter leads to a class that holds classes, not packets.
    #[error(
        "filter {index} leads to the class `{class}`, which is divided into {children}: name one \
         of those"
    )]
    NotALeaf {
        /// The filter's place in the list, from 1.
        index: usize,
        /// The name it gives.
        class: String,
        /// The classes within that class.
        children: String,
    },
}

/// The parent of a class, which bounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A class of that name.
    Class(String),
    /// The link.
    Link,
}

impl Holder {
    /// The class of that name, or the link without one.
    pub(crate) fn of(class: Option<&str>) -> Self {
        class.map_or(Self::Link, |class| Self::Class(class.into()))
    }

    /// The classes in it together.
    pub(crate) fn subject(&self) -> Subject<'_> {
        match self {
            Self::Class(class) => Subject::class(class).at(&["rate", "share"]),
            Self::Link => Subject::WHOLE,
        }
    }
}

impl core::fmt::Display for Holder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Class(class) => write!(f, "`{class}`"),
            Self::Link => f.write_str("the link"),
        }
    }
}

impl Error {
    /// The subject of the error.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::NoClass | Self::Filter { .. } | Self::UnknownClass { .. } => Subject::WHOLE,
            Self::DuplicateName(class) | Self::NotALeaf { class, .. } => Subject::class(class),
            Self::UnknownParent { class, .. } | Self::Cycle(class) => {
                Subject::class(class).at(&["parent"])
            }
        }
    }
}

/// A class tree with all names resolved.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// The parent of each class.
    pub(crate) parents: Vec<Option<usize>>,
    /// The children of each class, in the order given; none for a leaf.
    pub(crate) children: Vec<Vec<usize>>,
    /// The classes without a parent.
    pub(crate) tops: Vec<usize>,
    /// The classifier from packets to leaves.
    pub(crate) classifier: Classifier,
}

impl Tree {
    /// Resolves the names of `classes`, and the class names in `filters`.
    pub(crate) fn new(classes: &[Branch<'_>], filters: &[Rule]) -> Result<Self, Error> {
        if classes.is_empty() {
            return Err(Error::NoClass);
        }
        let mut places = BTreeMap::new();
        for (index, class) in classes.iter().enumerate() {
            if places.insert(class.name, index).is_some() {
                return Err(Error::DuplicateName(class.name.into()));
            }
        }
        let parents = parents(classes, &places)?;
        let (mut children, mut tops) = (vec![Vec::new(); classes.len()], Vec::new());
        for (index, parent) in parents.iter().enumerate() {
            parent.map_or(&mut tops, |parent| &mut children[parent]).push(index);
        }
        check_chains(classes, &children, &tops)?;
        let classifier = classifier(classes, &places, &children, filters)?;
        Ok(Self { parents, children, tops, classifier })
    }
}

/// Names as a text: `` `a`, `b` ``.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for name in names {
        text.push_str(if text.is_empty() { "`" } else { ", `" });
        text.push_str(name);
        text.push('`');
    }
    text
}

/// A sum of rates in the format of a rate, if it is not above the greatest rate.
pub(crate) fn sum_text(bits: u128) -> String {
    let rate = u64::try_from(bits).ok().and_then(Rate::from_bits_per_second);
    rate.map_or_else(|| format!("{bits} bit/s"), |rate| format!("{rate}"))
}

fn parents(
    classes: &[Branch<'_>],
    places: &BTreeMap<&str, usize>,
) -> Result<Vec<Option<usize>>, Error> {
    let resolve = |class: &Branch<'_>| {
        let Some(parent) = class.parent else { return Ok(None) };
        places.get(parent).copied().map(Some).ok_or_else(|| {
            let others = classes.iter().map(|c| c.name).filter(|&name| name != class.name);
            let help = match list(others) {
                none if none.is_empty() => "remove it, because there is no other class".into(),
                known => format!("name one of {known}"),
            };
            Error::UnknownParent { class: class.name.into(), parent: parent.into(), help }
        })
    };
    classes.iter().map(resolve).collect()
}

/// Checks chains of parents: a class that is not below a class without a parent is below itself.
fn check_chains(
    classes: &[Branch<'_>],
    children: &[Vec<usize>],
    tops: &[usize],
) -> Result<(), Error> {
    let mut reached = vec![false; classes.len()];
    let mut next = tops.to_vec();
    while let Some(index) = next.pop() {
        reached[index] = true;
        next.extend(&children[index]);
    }
    match reached.iter().position(|&reached| !reached) {
        Some(index) => Err(Error::Cycle(classes[index].name.into())),
        None => Ok(()),
    }
}

fn classifier(
    classes: &[Branch<'_>],
    places: &BTreeMap<&str, usize>,
    children: &[Vec<usize>],
    filters: &[Rule],
) -> Result<Classifier, Error> {
    let resolve = |(n, rule): (usize, &Rule)| {
        let (index, class) = (n + 1, rule.class.clone());
        let Some(&target) = places.get(class.as_str()) else {
            let known = list(classes.iter().map(|class| class.name));
            return Err(Error::UnknownClass { index, class, known });
        };
        if !children[target].is_empty() {
            let children = list(children[target].iter().map(|&child| classes[child].name));
            return Err(Error::NotALeaf { index, class, children });
        }
        Ok(Resolved { filter: rule.filter, priority: rule.priority, class: target })
    };
    let rules: Result<_, _> = filters.iter().enumerate().map(resolve).collect();
    let mut classifier =
        Classifier::new(rules?).map_err(|(n, error)| Error::Filter { index: n + 1, error })?;
    let leaves = (0..).zip(children);
    classifier.target(leaves.map(|(index, children)| children.is_empty().then_some(index)));
    Ok(classifier)
}
