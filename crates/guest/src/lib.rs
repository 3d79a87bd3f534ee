//! Linux kernels as guests on a simulator's clock.
//!
//! A guest is user-mode Linux in time-travel mode: a process whose clock stops until a [`Calendar`] lets it continue.
//! Its network cards are [`Card`]s, connected over vhost-user and served in shared memory. The caller provides the
//! network between the cards, an [`Outside`]: it gets each frame with its exact send time, and decides when frames
//! arrive. Only one guest or the outside runs at a time, so the same seed gives the same frames, however busy the
//! machine is.
//!
//! Times are those of the calendar, in nanoseconds from its start, the resolution of the kernel.

#![forbid(unsafe_code)]

mod ahead;
pub mod build;
pub mod built;
mod calendar;
mod card;
mod error;
mod kernel;
mod member;
pub mod needs;
pub mod network;
mod page;
mod pinned;
pub mod recipe;
mod socket;
mod tap;
mod time_travel;
mod vhost_user;

pub use calendar::{CARDS_MAX, Calendar, Cards, EPOCH, End, Outside};
pub use card::Address;
pub use error::Error;
pub use kernel::{Kernel, Settings};
pub use tap::ProgramTap;

/// A time that never comes.
pub const NEVER: u64 = u64::MAX;
