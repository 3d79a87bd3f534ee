//! The parameters of a conditioner, and why they are refused.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::classify;
use crate::meter;
use crate::tree;
use base::Fault;
use base::action::Action;
use base::filter::Filter;
use base::setting::settings;
use base::subject::Subject;

settings! {
    /// The conditioning of incoming packets, before they are forwarded.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Parameters {
        /// The elements, in any order.
        pub elements: Vec<Element>,
        /// The rules for the first element of a packet.
        pub rules: Vec<Rule>,
        /// Action on packets that no element matches, or that return; "pass" unless given. `return` is not possible
        /// here.
        pub default: Action,
    }
}

settings! {
    /// A meter, at most one, and an action for each colour that it assigns.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Element {
        /// Its name, for rules and other elements.
        pub name: String,
        /// The meter. Without one every packet is green, and keeps its previous colour for later meters.
        pub meter: Option<meter::Parameters>,
        /// Action on green packets, on packets that conform to a token bucket, or on all packets without a meter;
        /// "pass" unless given.
        pub green: Action,
        /// Action on yellow packets; "pass" unless given.
        pub yellow: Action,
        /// Action on red packets, or on packets that do not conform to a token bucket; "pass" unless given.
        pub red: Action,
    }
}

impl Element {
    /// Whether a packet may get the colour of that name here; without a meter all packets are green.
    pub fn gives(&self, colour: &str) -> bool {
        let gives = self.actions().into_iter().zip(self.colours());
        gives.into_iter().any(|((name, _), gives)| gives && name == colour)
    }

    /// The colours that a packet may get here, green first.
    pub(super) fn colours(&self) -> [bool; 3] {
        self.meter.map_or([true, false, false], |meter| meter.gives())
    }

    /// The names of the colours and their actions, green first.
    pub const fn actions(&self) -> [(&'static str, &Action); 3] {
        [("green", &self.green), ("yellow", &self.yellow), ("red", &self.red)]
    }
}

/// A rule for the first element of a packet's chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The packets it is for.
    pub filter: Filter,
    /// The priority. Among matching rules the greatest decides, then the first.
    pub priority: u16,
    /// The name of the element for them.
    pub element: String,
}

/// Why parameters are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Two elements have the same name.
    #[error("two elements are named `{0}`: give each a different name")]
    DuplicateName(String),
    /// `next` names an element that does not exist.
    #[error("{from} leads to the element `{name}`, which does not exist: {known}")]
    UnknownElement {
        /// The origin of the reference.
        from: Source,
        /// The unknown name.
        name: String,
        /// The names to choose from, in words.
        known: String,
    },
    /// A packet would never leave the chain.
    #[error(
        "a packet would loop through {}: use pass, drop, mark or return instead of `next` in one of them",
        tree::list(.0.iter().map(String::as_str))
    )]
    Cycle(Vec<String>),
    /// The default action has nothing to return to.
    #[error("the default action cannot be `return`: use `pass`")]
    DefaultReturns,
    /// Past 6 bits.
    #[error("{from} marks with the code point {dscp}: it has 6 bits, at most 63")]
    Dscp {
        /// The origin of the mark.
        from: Source,
        /// The value given.
        dscp: u8,
    },
    /// A meter refuses its parameters.
    #[error("element `{element}`: {error}")]
    Meter {
        /// The element.
        element: String,
        /// The reason.
        error: meter::Error,
    },
    /// A rule is refused.
    #[error("rule {index}: {error}")]
    Rule {
        /// The rule's place in the list, from 1.
        index: usize,
        /// The element that it leads to.
        element: String,
        /// The reason.
        error: classify::Error,
    },
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::usage(error.to_string(), "")
    }
}

impl Error {
    /// The subject of the error; its `class` is the element.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::DuplicateName(element) | Self::Rule { element, .. } => Subject::class(element),
            Self::Meter { element, error } => Subject::class(element).at(error.settings()),
            Self::UnknownElement { from, .. } | Self::Dscp { from, .. } => from.subject(),
            Self::Cycle(elements) => {
                elements.first().map_or(Subject::WHOLE, |first| Subject::class(first))
            }
            Self::DefaultReturns => Source::Default.subject(),
        }
    }
}

/// What refers to an element, or marks with a code point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The element of that name.
    Element(String),
    /// The default action.
    Default,
    /// The rule at that place in the list, from 1.
    Rule(usize),
}

impl Source {
    pub(super) fn subject(&self) -> Subject<'_> {
        match self {
            Self::Element(element) => Subject::class(element),
            Self::Default => Subject::settings(&["default"]),
            Self::Rule(_) => Subject::WHOLE,
        }
    }
}

impl core::fmt::Display for Source {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Element(element) => write!(f, "element `{element}`"),
            Self::Default => f.write_str("the default action"),
            Self::Rule(index) => write!(f, "rule {index}"),
        }
    }
}
