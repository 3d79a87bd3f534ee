//! Results of workloads: what the programs of a flow count. A new kind is a file with its [`Counts`], and a line
//! of the registry here.

use alloc::boxed::Box;
use core::any::TypeId;

use crate::counts::Counts;
use crate::event_builder::Events;
use crate::exchange::Exchanges;
use crate::mpi::rank::RankTotals;
use crate::voip::Call;
use network::application::{Application, SocketId};

/// Counts that are a kind of [`Results`].
pub trait Counted: Counts {
    /// These counts, if the results are of this kind.
    fn of(results: &Results) -> Option<&Self>;
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
            /// The type of its counts.
            pub fn counts(self) -> TypeId {
                match self {
                    $(Self::$kind => TypeId::of::<$counts>(),)*
                }
            }

            /// See [`Counts::LACKING`].
            pub const fn lacking(self) -> [&'static str; 2] {
                match self {
                    $(Self::$kind => <$counts>::LACKING,)*
                }
            }
        }

        impl Results {
            /// The results of a program.
            pub fn of(program: &dyn Application, socket: SocketId) -> Option<Self> {
                let results = program.results(socket)?;
                $(
                    let results = match results.downcast::<$counts>() {
                        Ok(counts) => return Some(Self::$kind(counts)),
                        Err(other) => other,
                    };
                )*
                drop(results);
                None
            }

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
