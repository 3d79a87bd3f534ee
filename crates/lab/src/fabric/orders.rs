//! Requests of other threads to the running fabric.

use std::sync::mpsc::{Receiver, Sender};

use base::Instant;
use network::PortId;
use record::totals::{Drops, PortTotals};
use scenario::plan::Action;

use super::{Fabric, kept_up};
use crate::attachment::Attachment;
use crate::device::{Counts, LinkState};

/// A request and the channel for its answer.
#[derive(Debug)]
pub(crate) enum Order {
    /// Change a port's queue. The answer is the reason for refusal, if any.
    Change(PortId, Box<Action>, Sender<Option<String>>),
    /// Return the counters so far.
    Look(Sender<Look>),
}

/// The receiving end of orders.
pub(crate) type Orders = Receiver<Order>;

/// The counters at a time.
#[derive(Clone, Debug)]
pub struct Look {
    /// The time, from the start.
    pub now: Instant,
    /// The totals by port, `2 * link + end` of the plan.
    pub ports: Vec<PortTotals>,
    /// Drops within each node, by node number.
    pub nodes: Vec<Drops>,
    /// The lateness of sent packets.
    pub lateness: record::Lateness,
    /// Frames that the machine lost on their way in or out. No queue counts them.
    pub missed_frames: u64,
    /// Whether the machine has kept up.
    pub kept_up: bool,
    /// The interfaces, in the order in which they were opened.
    pub interfaces: Vec<Interface>,
}

/// The state and counters of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The link state.
    pub state: LinkState,
    /// The number of times that the interface went down or lost its carrier.
    pub outages: u64,
    /// Frames that were to be sent during outages.
    pub lost_when_down: u64,
    /// Received MAC control frames, such as PAUSE. They are not forwarded (IEEE 802.3, clause 31).
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
    /// Carries out the orders received since the last call.
    pub(super) fn handle_orders(&mut self) {
        while let Some(order) = self.orders.as_ref().and_then(|orders| orders.try_recv().ok()) {
            // The sender of the order may be gone.
            let _ = match order {
                Order::Change(port, action, answer) => {
                    answer.send(self.change(port, &action)).map_err(drop)
                }
                Order::Look(answer) => answer.send(self.look()).map_err(drop),
            };
        }
    }

    pub(super) fn look(&mut self) -> Look {
        let missed_frames = self.missed();
        let tally = &mut self.monitor.tally;
        Look {
            now: self.engine.now(),
            ports: self.engine.port_totals(tally),
            nodes: tally.nodes.clone(),
            lateness: self.lateness.to_summary(),
            missed_frames,
            kept_up: kept_up(missed_frames, &self.lateness),
            interfaces: self.attachments.iter().map(Interface::from).collect(),
        }
    }
}
