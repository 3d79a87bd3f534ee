//! `[balancer.NAME]`: a load balancer.

use network::balancer::{self, Unit};
use network::node::Kind;
use schemars::JsonSchema;
use serde::Deserialize;
use traffic::Duration;

use super::Table;
use crate::diagnostic::Problems;
use crate::lock::{line, string, time};
use crate::plan::Node;
use crate::value::{Count, PeriodUnit, Quantity, TimeUnit};

/// The silence that ends a flowlet, unless given: LetFlow's (Vanini et al. 2017, section 6).
const GAP: Duration = Duration::from_us(500);

/// A forwarder that spreads packets over parallel links, or `count` of them named NAME.1, NAME.2, …
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Balancer {
    /// How many; without it, one that bears the bare name.
    count: Option<Count>,
    /// What goes by one link as a whole: a "flow" in one direction, picked by a hash, a "flowlet", which ends with a
    /// silence, or each "packet", the links in turn; "flow" unless given.
    by: Option<By>,
    /// The silence that ends a flowlet; 500 us unless given.
    gap: Option<Quantity<TimeUnit>>,
    /// How often the timer ticks that its ports' disciplines wait by, as a kernel's; as often as is
    /// needed unless given.
    timer: Option<Quantity<PeriodUnit>>,
}

/// What goes by one link as a whole.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum By {
    /// A flow in one direction.
    #[default]
    Flow,
    /// Packets of a flow without a long silence between them.
    Flowlet,
    /// Each packet.
    Packet,
}

impl Table for Balancer {
    fn count(&self) -> Option<&Count> {
        self.count.as_ref()
    }

    fn timer(&self) -> Option<&Quantity<PeriodUnit>> {
        self.timer.as_ref()
    }

    fn kind(&self, problems: &mut Problems) -> Option<Kind> {
        let by = match (self.by.unwrap_or_default(), &self.gap) {
            (By::Flowlet, Some(gap)) => Unit::Flowlet(gap.interval(problems)?),
            (By::Flowlet, None) => Unit::Flowlet(GAP),
            (_, Some(gap)) => {
                let help = "leave it out, or set by = \"flowlet\"";
                problems.push(&gap.span, "a `gap` where there are no flowlets", help);
                return None;
            }
            (By::Flow, None) => Unit::Flow,
            (By::Packet, None) => Unit::Packet,
        };
        Some(Kind::Balancer(balancer::Config { by }))
    }
}

pub(super) fn write(config: &balancer::Config, _: &[Node], text: &mut String) {
    let by = match config.by {
        Unit::Flow => "flow",
        Unit::Flowlet(_) => "flowlet",
        Unit::Packet => "packet",
    };
    line(text, "by", &string(by));
    if let Unit::Flowlet(gap) = config.by {
        line(text, "gap", &time(gap));
    }
}
