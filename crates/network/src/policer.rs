//! A policer: forwards like a router, and holds what arrives at each of its ports to a rate by a token bucket, as
//! access networks hold a subscriber to the contracted rate (RFC 2475, section 2.3.3.4; `tc police` of Linux).
//!
//! A policer has no queue: the excess over rate and burst is dropped or marked at once. TCP therefore sees losses
//! without a growing delay, after a burst at the rate of the links (Flach et al. 2016, "An Internet-wide analysis of
//! traffic policing").

use base::action::Action;
use base::setting::settings;
use base::{Bytes, Rate};
use traffic::condition::{self, Element};
use traffic::meter::{self, bucket};

use crate::behaviour::NodeConfig;
use crate::invalid::Invalid;

settings! {
    required: rate, burst;
    /// A policer: a router that holds the packets of each ingress port to a rate. It counts bytes of IP packets.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Config {
        /// Token rate of each port's bucket.
        pub rate: Rate,
        /// Bucket depth: the burst that passes after a pause. It must be at least the longest packet, which otherwise
        /// never conforms.
        #[range(Bytes(1)..)]
        pub burst: Bytes,
        /// Action on packets that exceed rate and burst: "drop", or "mark af13" for another code point; "drop" unless
        /// given.
        pub exceed: Action,
    }
}

impl Default for Config {
    /// The caller sets rate and burst.
    fn default() -> Self {
        Self { rate: Rate::MIN, burst: Bytes(1), exceed: Action::Drop }
    }
}

/// The name of the bucket among the elements of conditioners in results.
const NAME: &str = "police";

impl NodeConfig for Config {
    fn fill_defaults(&mut self) -> Result<(), Invalid> {
        match self.exceed {
            Action::Drop | Action::Mark(_) | Action::Pass => Ok(()),
            Action::Next(_) | Action::Return => Err(Invalid {
                setting: "exceed",
                message: "a policer has a single bucket",
                help: "write \"drop\", or \"mark\" with a code point: \"mark af13\"",
            }),
        }
    }

    fn conditioner(&self) -> Option<condition::Parameters> {
        let bucket = bucket::Parameters { rate: self.rate, burst: self.burst };
        let element = Element {
            name: NAME.into(),
            meter: Some(meter::Parameters::TokenBucket(bucket)),
            red: self.exceed.clone(),
            ..Element::default()
        };
        let (elements, default) = (vec![element], Action::Next(NAME.into()));
        Some(condition::Parameters { elements, default, ..condition::Parameters::default() })
    }
}
