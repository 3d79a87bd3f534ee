//! The behaviour of every node, and what follows from the settings of its kind.

use base::setting::Settings;
use base::{Duration, Instant, Packet, PacketId};
use traffic::condition;

use crate::context::{Context, Egress};
use crate::custody::Owner;
use crate::forwarding::ForwardingTable;
use crate::ingress::{Ingress, Notifications, Side};
use crate::invalid::Invalid;
use crate::observer::Observer;
use crate::port::Port;

/// The ingress port of packets from the machine behind a node: none of the node's ports.
pub const MACHINE: u32 = u32::MAX;

/// The parts of a node that are common to all kinds.
#[derive(Debug)]
pub struct Parts {
    /// Its number in the plan.
    pub number: u32,
    /// Its output ports.
    pub ports: Vec<Port>,
    /// Their ingress sides.
    pub sides: Vec<Side>,
    /// Its forwarding table.
    pub table: ForwardingTable,
    /// The seed of its random choices.
    pub seed: u64,
}

/// The behaviour of every node. A driver calls it through [`Node`](crate::Node).
pub trait Behaviour {
    /// Takes a packet with its last bit arriving at the port `ingress` (numbered within the node), or a packet from
    /// the machine behind the node ([`MACHINE`]). The port's conditioner, if any, marks or drops it.
    fn receive<E: Egress, O: Observer>(
        &mut self,
        ingress: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    );

    /// Asks the processor for the memory that [`Behaviour::receive`] of that packet will need, see [`base::prefetch`].
    fn expect(&self, packet: &Packet) {
        let _ = packet;
    }

    /// Continues sending at the port (numbered within the node) when its time has come. Returns the next such time:
    /// `NEVER` if nothing is queued.
    fn transmit<E: Egress, O: Observer>(
        &mut self,
        port: u32,
        cx: &mut Context<'_, E, O>,
    ) -> Instant {
        self.ports_mut()[port as usize].transmit(&mut (), cx)
    }

    /// Calls `act` on the queue of the port (numbered within the node), which exists. The port's packets belong to
    /// the node, which learns what becomes of them.
    fn with_port<E: Egress, O: Observer, R>(
        &mut self,
        port: u32,
        cx: &mut Context<'_, E, O>,
        act: impl FnOnce(&mut Port, &mut dyn Owner, &mut Context<'_, E, O>) -> R,
    ) -> R {
        act(&mut self.ports_mut()[port as usize], &mut (), cx)
    }

    /// When [`Behaviour::wake`] wants to be called, at the latest. A driver calls this at the start and after each
    /// wake; in between the node calls [`Egress::wake`].
    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }

    /// Runs the node when its wake-up time has come.
    fn wake<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        let _ = cx;
    }

    /// Its output ports.
    fn ports(&self) -> &[Port];

    /// The ingress side of its ports.
    fn ingress(&self) -> &Ingress;

    /// The ingress side, to start or stop the listening of a port's discipline.
    fn ingress_mut(&mut self) -> &mut Ingress;

    /// Its output ports, to set up before anything is queued: see [`Behaviour::with_port`].
    fn ports_mut(&mut self) -> &mut [Port];

    /// Lets the ports whose number `may` accepts send ahead of time: see [`Port::look_ahead`].
    fn look_ahead(&mut self, may: impl Fn(&Port) -> bool) {
        let _ = may;
    }

    /// Brings the counters of its ports, and what it counts of their packets, to `now`: see [`Port::settle`].
    fn settle(&mut self, now: Instant, observer: &mut impl Observer) {
        let _ = (now, observer);
    }

    /// The number of packets that it holds outside its ports' disciplines.
    fn held(&self) -> usize {
        0
    }
}

/// The settings of a kind of node.
pub trait NodeConfig: Settings {
    /// Fills in defaults that depend on other settings.
    ///
    /// # Errors
    ///
    /// Conflicting settings.
    fn fill_defaults(&mut self) -> Result<(), Invalid> {
        Ok(())
    }

    /// The period of the timer for its ports' disciplines; zero for an ideal timer.
    fn timer(&self) -> Duration {
        Duration::ZERO
    }

    /// The handling of congestion notifications that arrive at its ports.
    fn notifications(&self) -> Notifications {
        Notifications::Discard
    }

    /// The conditioner of packets that arrive at each of its ports. A kind that has one takes none from a scenario.
    fn conditioner(&self) -> Option<condition::Parameters> {
        None
    }
}
