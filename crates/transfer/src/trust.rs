//! The peers that the two ends trust.

use crate::code::Code;
use crate::identity::{PrivateKey, PublicKey};

/// The senders that a receiver trusts.
#[derive(Clone, Debug)]
pub enum ReceiverTrust {
    /// Any sender that knows the code.
    Code(Code),
    /// Senders with one of these keys.
    Keys {
        /// The receiver's own.
        own: PrivateKey,
        /// The senders'.
        senders: Vec<PublicKey>,
    },
    /// Any sender, without encryption: for trusted networks.
    Anybody,
}

/// The receivers that a sender trusts.
#[derive(Clone, Debug)]
pub enum SenderTrust {
    /// Any receiver that knows the code.
    Code(Code),
    /// The receiver with this key.
    Key {
        /// The sender's own.
        own: PrivateKey,
        /// The receiver's.
        receiver: PublicKey,
    },
    /// Any receiver, without encryption: for trusted networks.
    Anybody,
}

impl ReceiverTrust {
    /// The receiver's own key, and those of senders; none without encryption.
    pub(crate) fn keys(&self) -> Option<(PrivateKey, Vec<PublicKey>)> {
        match self {
            Self::Code(code) => Some((code.receiver(), vec![code.sender().public()])),
            Self::Keys { own, senders } => Some((own.clone(), senders.clone())),
            Self::Anybody => None,
        }
    }
}

impl SenderTrust {
    /// The sender's own key, and the receiver's; none without encryption.
    pub(crate) fn keys(&self) -> Option<(PrivateKey, PublicKey)> {
        match self {
            Self::Code(code) => Some((code.sender(), code.receiver().public())),
            Self::Key { own, receiver } => Some((own.clone(), *receiver)),
            Self::Anybody => None,
        }
    }
}
