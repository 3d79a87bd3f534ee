//! Linux kernels as guests on a simulator's clock.
//!
//! A guest is user-mode Linux with time travel: a process whose clock stands still until a [`Calendar`] lets it go on,
//! and whose network cards are [`Card`]s, made over vhost-user and served in shared memory. What lies between the cards is the caller's, an
//! [`Outside`]: it gets each frame with the exact time at which it was sent, and says when frames arrive. One guest
//! or the outside runs at a time, so that the same seed gives the same frames however busy the machine is.
//!
//! Times are those of the calendar, in nanoseconds from its start, for the kernel knows no finer.

#![forbid(unsafe_code)]

pub mod built;
mod calendar;
mod card;
mod error;
mod kernel;
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
