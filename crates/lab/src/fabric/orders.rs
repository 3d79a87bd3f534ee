//! What other threads ask of the fabric while it runs.

use std::sync::mpsc::{Receiver, Sender};

use network::PortId;
use record::totals::{Drops, PortTotals};
use scenario::plan::Action;
use traffic::Instant;

use super::{Fabric, kept_up};
use crate::attachment::Attachment;
use crate::device::{Counts, LinkState};

/// Something asked, and where the answer goes.
#[derive(Debug)]
pub(crate) enum Order {
    /// Do something to a port's queue; answered with why it was refused, if it was.
    Change(PortId, Box<Action>, Sender<Option<String>>),
    /// Tell what was counted so far.
    Look(Sender<Look>),
}

/// Where orders come in.
pub(crate) type Orders = Receiver<Order>;

/// What was counted up to a moment.
#[derive(Clone, Debug)]
pub struct Look {
    /// That moment, from the start.
    pub now: Instant,
    /// By port, `2 * link + end` of the plan.
    pub ports: Vec<PortTotals>,
    /// Drops within each node, by number.
    pub nodes: Vec<Drops>,
    /// How late packets were let go.
    pub lateness: record::Lateness,
    /// Frames that the machine has lost on their way in or out, of which no queue knows.
    pub missed_frames: u64,
    /// Whether the machine has kept up.
    pub kept_up: bool,
    /// Each interface, in the order in which they were opened.
    pub interfaces: Vec<Interface>,
}

/// What became of an interface up to a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// How it is.
    pub state: LinkState,
    /// How many times it went down, or lost its carrier.
    pub outages: u64,
    /// Frames that were to be sent meanwhile.
    pub lost_when_down: u64,
    /// Frames of MAC control that came in, such as PAUSE. They go no further (IEEE 802.3, clause 31).
    pub mac_control_frames: u64,
}

impl From<&Attachment> for Interface {
    fn from(attachment: &Attachment) -> Self {
        let Counts { outages, lost_when_down, .. } = attachment.device.counts();
        let (state, mac_control_frames) =
            (attachment.device.link_state(), attachment.mac_control_frames);
        Self { state, outages, lost_when_down, mac_control_frames }
    }
}

impl Fabric {
    /// Does what was asked since it was last looked.
    pub(super) fn handle_orders(&mut self) {
        while let Some(order) = self.orders.as_ref().and_then(|orders| orders.try_recv().ok()) {
            // Whoever asked may be gone.
            let _ = match order {
                Order::Change(port, action, answer) => {
                    answer.send(self.change(port, &action)).map_err(drop)
                }
                Order::Look(answer) => answer.send(self.look()).map_err(drop),
            };
        }
    }

    pub(super) fn look(&self) -> Look {
        let (tally, missed_frames) = (&self.monitor.tally, self.missed());
        Look {
            now: self.engine.now(),
            ports: self.engine.port_totals(tally),
            nodes: tally.nodes.clone(),
            lateness: self.lateness.told(),
            missed_frames,
            kept_up: kept_up(missed_frames, &self.lateness),
            interfaces: self.attachments.iter().map(Interface::from).collect(),
        }
    }
}
