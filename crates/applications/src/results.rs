//! Results of workloads: what the programs of a flow count. A new kind is a file with its [`Counts`], and a line
//! of the registry here.

use core::any::Any;

use network::application::{Application, SocketId};

use crate::counts::Counts;
use crate::event_builder::Events;
use crate::exchange::Exchanges;
use crate::mpi::rank::RankTotals;
use crate::voip::Call;

/// The registry: the variant of each kind, and its counts.
macro_rules! results {
    ($($kind:ident($counts:ty);)*) => {
        /// The results of a program.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Results {
            $(#[doc = concat!("See [`", stringify!($counts), "`].")] $kind(Box<$counts>),)*
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

            /// The counts, if they are of that type.
            pub fn get<T: 'static>(&self) -> Option<&T> {
                let counts: &dyn Any = match self {
                    $(Self::$kind(counts) => counts.as_ref(),)*
                };
                counts.downcast_ref()
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
            impl From<$counts> for Results {
                fn from(counts: $counts) -> Self {
                    Self::$kind(Box::new(counts))
                }
            }
        )*
    };
}

results! {
    Call(Call);
    Exchanges(Exchanges);
    Events(Events);
    Ranks(RankTotals);
}
