//! Results of workloads: what the programs of a flow count. A new kind is a file with its counts and a [`Counts`], and
//! a line of the registry here.

use alloc::boxed::Box;

use crate::event_builder::Events;
use crate::exchange::Exchanges;
use crate::mpi::rank::RankTotals;
use crate::voip::Call;
use network::application::{Application, SocketId};

/// What a program counts.
pub trait Counts: Clone {
    /// What a flow without such counts lacks, in messages, and how a flow gets them.
    const LACKING: [&'static str; 2];
    /// Whether the program asks its peer for data, so that the segments of both ends count for the flow.
    const ASKS: bool = false;
    /// Whether only the counts of a whole run have a meaning.
    const WHOLE: bool = false;

    /// The counts since `earlier`.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;

    /// Responses that have arrived, if the program makes requests.
    fn responses(&self) -> Option<u64> {
        None
    }
}

/// Counts that are a kind of [`Results`].
pub trait Counted: Counts {
    /// These counts, if the results are of this kind.
    fn of(results: &Results) -> Option<&Self>;
}

impl Results {
    /// The results of one of these programs.
    pub fn of(program: &dyn Application, socket: SocketId) -> Option<Self> {
        program.results(socket)?.downcast().ok().map(|results| *results)
    }
}

/// The registry: the variant of each kind, and its counts.
macro_rules! registry {
    ($($kind:ident($counts:ty);)*) => {
        /// A kind of results.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $(#[doc = concat!("See [`", stringify!($counts), "`].")] $kind,)*
        }

        /// The results of a program.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Results {
            $(#[doc = concat!("See [`", stringify!($counts), "`].")] $kind(Box<$counts>),)*
        }

        impl Kind {
            /// See [`Counts::LACKING`].
            pub const fn lacking(self) -> [&'static str; 2] {
                match self {
                    $(Self::$kind => <$counts>::LACKING,)*
                }
            }
        }

        impl Results {
            /// See [`Counts::ASKS`].
            pub const fn asks(&self) -> bool {
                match self {
                    $(Self::$kind(_) => <$counts>::ASKS,)*
                }
            }

            /// The counts of a part of a run, between two snapshots; these are those of the whole run.
            #[must_use]
            pub fn within(&self, later: Option<&Self>, earlier: Option<&Self>) -> Option<Self> {
                let whole = match self {
                    $(Self::$kind(_) => <$counts>::WHOLE,)*
                };
                if whole {
                    return Some(self.clone());
                }
                let later = later?;
                Some(match (later, earlier) {
                    $((Self::$kind(later), Some(Self::$kind(earlier))) => {
                        later.since(earlier).into()
                    })*
                    _ => later.clone(),
                })
            }

            /// See [`Counts::responses`].
            pub fn responses(&self) -> Option<u64> {
                match self {
                    $(Self::$kind(own) => own.responses(),)*
                }
            }
        }

        $(
            impl Counted for $counts {
                fn of(results: &Results) -> Option<&Self> {
                    match results {
                        Results::$kind(own) => Some(own),
                        #[allow(unreachable_patterns, reason = "there may be one kind only")]
                        _ => None,
                    }
                }
            }

            impl From<$counts> for Results {
                fn from(counts: $counts) -> Self {
                    Self::$kind(Box::new(counts))
                }
            }
        )*
    };
}

registry! {
    Call(Call);
    Exchanges(Exchanges);
    Events(Events);
    Ranks(RankTotals);
}
