//! Moves files and folders to another machine at the rate of the path, with little work for the processor, and
//! never a wrong byte: `suimon send` and `suimon recv`.
//!
//! A [`Receiver`] listens. [`send`] connects, announces the files, learns which parts are there already, and sends
//! the rest in chunks, each with its BLAKE3 hash, over one or several connections. A file gets its name when all of
//! it is right. Peers identify each other by keys, or by a one-time [`Code`] that both derive the keys from.

mod channel;
mod choice;
mod code;
mod error;
mod finish;
mod folders;
mod identity;
mod kept;
mod ktls;
mod limit;
pub mod message;
mod meter;
mod name;
mod no_links;
mod pages;
mod partial;
mod path;
mod pipe;
mod place;
mod ranges;
mod recv;
mod retry;
mod root;
mod send;
mod sink;
mod socket;
mod store;
mod tls;
mod tree;
mod trust;
mod wire;
mod work;

pub use code::Code;
pub use error::Error;
pub use identity::{PrivateKey, PublicKey};
pub use limit::Limit;
pub use message::{CHUNK_MAX, Entry, Kind, Message, STREAMS_MAX};
pub use meter::Meter;
pub use name::{LENGTH_MAX, Name, NameError, PART_MAX, shown};
pub use path::Path;
pub use recv::Settings as ReceiverSettings;
pub use recv::{Event, PENDING_PEERS_MAX, Received, Receiver};
pub use retry::send_with_retries;
pub use send::Settings as SenderSettings;
pub use send::{Buffers, Sent, send};
pub use sink::Sink;
pub use tls::Tls;
pub use tree::Tree;
pub use trust::{ReceiverTrust, SenderTrust};

/// The default port of a receiver.
pub const PORT: u16 = 7867;
