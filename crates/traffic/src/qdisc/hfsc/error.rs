//! The reasons why parameters of `hfsc` are refused.

use alloc::boxed::Box;
use alloc::string::String;

use crate::qdisc;
use crate::reservation::Refusal;
use crate::tree;
use base::setting::OutOfRange;
use base::subject::Subject;
use base::units::Rate;

/// One of a class's curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The guarantee.
    RealTime,
    /// The share among siblings.
    LinkShare,
    /// The upper bound.
    UpperLimit,
}

impl Kind {
    /// The settings of its curve.
    pub(super) const fn settings(self) -> &'static [&'static str] {
        match self {
            Self::RealTime => &["real_time_m1", "real_time_d", "real_time_m2"],
            Self::LinkShare => &["link_share_m1", "link_share_d", "link_share_m2"],
            Self::UpperLimit => &["upper_limit_m1", "upper_limit_d", "upper_limit_m2"],
        }
    }
}

impl core::fmt::Display for Kind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::RealTime => "real_time",
            Self::LinkShare => "link_share",
            Self::UpperLimit => "upper_limit",
        })
    }
}

/// Why parameters are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A setting is out of its range.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// The classes' names or filters make no sense.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// The default class does not exist.
    #[error("the default class `{class}` does not exist: name one of {known}")]
    UnknownDefault {
        /// The name given.
        class: String,
        /// The classes without children.
        known: String,
    },
    /// The default class holds classes, not packets.
    #[error("the default class `{class}` is divided into {children}: name one of those")]
    DefaultNotALeaf {
        /// The name given.
        class: String,
        /// The classes within it.
        children: String,
    },
    /// A curve without its second piece.
    #[error("class `{class}` has {kind}_m1 or {kind}_d, but no {kind}_m2: add the rate after them")]
    NoSecondPiece {
        /// The class.
        class: String,
        /// The curve.
        kind: Kind,
    },
    /// A first piece of no length.
    #[error(
        "class `{class}` has {kind}_m1 of {m1} for {kind}_d of 0: set the duration, or remove it"
    )]
    NoDuration {
        /// The class.
        class: String,
        /// The curve.
        kind: Kind,
        /// The first slope.
        m1: Rate,
    },
    /// A convex curve that does not start flat: the minimum of its copies has more than two pieces.
    #[error(
        "class `{class}` has {kind}_m1 of {m1}, below {kind}_m2 of {m2}: remove {kind}_m1, so that the curve \
         starts after {kind}_d, or raise it to at least {m2}"
    )]
    ConvexSlope {
        /// The class.
        class: String,
        /// The curve.
        kind: Kind,
        /// The first slope.
        m1: Rate,
        /// The second slope.
        m2: Rate,
    },
    /// A guarantee to a class that holds no packets.
    #[error(
        "class `{class}` has real_time curves, but is divided into {children}: move them to those"
    )]
    RealTimeInside {
        /// The class.
        class: String,
        /// The classes within it.
        children: String,
    },
    /// A class that would never send.
    #[error("class `{0}` has neither real_time_m2 nor link_share_m2, so it never sends: add one")]
    NoService(String),
    /// A class shares a parent that has no share itself.
    #[error(
        "class `{class}` has a link_share, but its parent `{parent}` has none to share: give \
         `{parent}` link_share_m2"
    )]
    ParentWithoutShare {
        /// The class.
        class: String,
        /// Its parent.
        parent: String,
    },
    /// A bound on link-sharing for a class that does not share.
    #[error(
        "class `{0}` has an upper_limit, which bounds link-sharing, but no link_share: add link_share_m2, or \
         remove the limit"
    )]
    LimitWithoutShare(String),
    /// A class is guaranteed more than it may have.
    #[error(
        "class `{class}`{including}: by {by} real_time guarantees {promised} bits, but upper_limit lets only {limit} \
         bits through: raise the limit or lower the guarantee by {excess} bits"
    )]
    LimitBelow {
        /// The class.
        class: String,
        /// The guaranteed leaves within the class, in words; empty if the class is a leaf.
        including: String,
        /// The time from the start of a backlog.
        by: String,
        /// The bits guaranteed by then.
        promised: u128,
        /// The bits that the limit allows by then.
        limit: u128,
        /// The difference.
        excess: u128,
    },
    /// In the long run a class's guarantee is above its limit.
    #[error(
        "class `{class}`{including}: in the long run real_time guarantees {promised} bit/s, but upper_limit lets only \
         {limit} bit/s through: raise the limit or lower the guarantee by {excess} bit/s"
    )]
    LimitBelowAtLast {
        /// The class.
        class: String,
        /// The guaranteed leaves within the class, in words; empty if the class is a leaf.
        including: String,
        /// The guaranteed rate, in bit/s.
        promised: u128,
        /// The rate of the limit, in bit/s.
        limit: u128,
        /// The difference.
        excess: u128,
    },
    /// The guarantees exceed what the link carries by some time.
    #[error(
        "by {by} the real_time curves of {classes} guarantee {promised} bits, but the link \
         carries only {carries} bits: lower them by {excess} bits in all, or allow more time"
    )]
    Promise {
        /// The classes.
        classes: String,
        /// The time from the start of a backlog of all classes.
        by: String,
        /// The bits guaranteed by then.
        promised: u128,
        /// The bits that the link carries by then.
        carries: u128,
        /// The difference.
        excess: u128,
    },
    /// In the long run the guarantees exceed what the link carries.
    #[error(
        "in the long run the real_time curves of {classes} guarantee {promised} bit/s, but the \
         link has only {carries} bit/s: lower them by {excess} bit/s in all"
    )]
    PromiseAtLast {
        /// The classes.
        classes: String,
        /// The guaranteed rate, in bit/s.
        promised: u128,
        /// The link's rate.
        carries: u128,
        /// The difference.
        excess: u128,
    },
    /// A class's queue may not be of this discipline.
    #[error(
        "class `{class}` has the queue `{queue}`: use a work-conserving discipline without classes, such as {known}"
    )]
    Queue {
        /// The class.
        class: String,
        /// The discipline.
        queue: &'static str,
        /// The permitted names.
        known: String,
    },
    /// A class's queue makes no sense.
    #[error("the queue of class `{class}`: {error}")]
    QueueParameters {
        /// The class.
        class: String,
        /// The reason for the refusal.
        error: Box<qdisc::Error>,
    },
    /// More classes than the numbering allows.
    #[error("{0} classes: use at most 2^24")]
    TooMany(usize),
    /// A packet that is being sent is not interrupted.
    #[error(
        "a delay bound of {bound} for `{name}`: one longest frame of another class takes {frame} on this \
         link, so the bound must be longer than that"
    )]
    Bound {
        /// The reservation.
        name: String,
        /// The bound asked for.
        bound: String,
        /// The time of a longest frame.
        frame: String,
    },
    /// A new reservation, or one that the new parameters leave no room for, is refused.
    #[error(transparent)]
    Reservation(Box<Refusal>),
}

impl Error {
    /// The subject of the error.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Range(error) => error.subject(),
            Self::Tree(error) => error.subject(),
            Self::UnknownDefault { .. } | Self::DefaultNotALeaf { .. } => {
                Subject::settings(&["default_class"])
            }
            Self::NoSecondPiece { class, kind }
            | Self::NoDuration { class, kind, .. }
            | Self::ConvexSlope { class, kind, .. } => Subject::class(class).at(kind.settings()),
            Self::RealTimeInside { class, .. } => {
                Subject::class(class).at(Kind::RealTime.settings())
            }
            Self::NoService(class) => Subject::class(class),
            Self::ParentWithoutShare { class, .. } => Subject::class(class).at(&["parent"]),
            Self::LimitWithoutShare(class)
            | Self::LimitBelow { class, .. }
            | Self::LimitBelowAtLast { class, .. } => {
                Subject::class(class).at(Kind::UpperLimit.settings())
            }
            Self::Queue { class, .. } | Self::QueueParameters { class, .. } => {
                Subject::class(class).at(&["queue"])
            }
            Self::Promise { .. }
            | Self::PromiseAtLast { .. }
            | Self::TooMany(_)
            | Self::Bound { .. }
            | Self::Reservation(_) => Subject::WHOLE,
        }
    }
}
