//! How far a guest may run ahead of the network: what happens elsewhere reaches its cards no sooner than by the delays of
//! the links between.

use base::{Duration, Instant};
use engine::Engine;
use network::PortId;
use scenario::Plan;
use scenario::plan::NodeKind;

/// The distances of the network's parts from a guest's cards, in time.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The time from an event to its first effect on a card: of each link direction, each port and each node.
    distances: Vec<Duration>,
    /// These distances, but zero for the cards' own ports: their slots become free.
    distances_of_slots: Vec<Duration>,
    /// The time from a frame that the guest sends to its first effect on a card.
    answers_after: Duration,
    /// The time from a frame that another guest sends to its first effect on a card.
    others_after: Duration,
}

/// The distance of what has no effect on a card.
const UNREACHED: Duration = Duration::MAX;
/// The maximum number of links of a plan whose guests run ahead: every event of the network is looked at before a
/// guest runs.
pub(crate) const LINKS_MAX: usize = 128;

impl Ahead {
    /// The distances from the cards with the ports `own`.
    pub(crate) fn of(plan: &Plan, engine: &Engine, own: &[PortId]) -> Self {
        let map = Map { plan, engine, own };
        let arriving = map.arriving();
        let leaving: Vec<_> =
            (0..).zip(&arriving).map(|(port, &rest)| map.over(port, rest)).collect();
        let from_node =
            |node| map.ports_of(node).map(|port| leaving[port as usize]).min().unwrap_or(UNREACHED);
        let nodes = (0..plan.nodes.len()).map(from_node);
        let distances: Vec<_> =
            arriving.iter().copied().chain(leaving.iter().copied()).chain(nodes).collect();
        let own_ports = own.iter().map(|port| port.0 as usize);
        let mut distances_of_slots = distances.clone();
        for port in own_ports.clone() {
            distances_of_slots[arriving.len() + port] = Duration::ZERO;
        }
        let others =
            (0..plan.nodes.len()).filter(|&node| plan.has_kernel(node) && !map.is_own(node));
        Self {
            answers_after: own_ports.map(|port| leaving[port]).min().unwrap_or(UNREACHED),
            others_after: others.map(from_node).min().unwrap_or(UNREACHED),
            distances,
            distances_of_slots,
        }
    }

    /// The time for which nothing changes a card after the guest has sent a frame.
    pub(crate) const fn answers_after(&self) -> Duration {
        self.answers_after
    }

    /// The time until which nothing changes a card, if the guest does not send and no other guest sends before `others`.
    /// `slots`: a slot that becomes free is a change.
    pub(crate) fn unchanged_until(&self, engine: &Engine, others: Instant, slots: bool) -> Instant {
        let distances = if slots { &self.distances_of_slots } else { &self.distances };
        engine.earliest_after(distances).min(others + self.others_after)
    }
}

/// A plan's links, and a guest's place there.
struct Map<'a> {
    plan: &'a Plan,
    engine: &'a Engine,
    /// The ports of the guest's cards.
    own: &'a [PortId],
}

impl Map<'_> {
    /// Whether a node is a host of the guest.
    fn is_own(&self, node: usize) -> bool {
        self.own.iter().any(|port| self.near(port.0) == node)
    }

    fn is_host(&self, node: usize) -> bool {
        matches!(self.plan.nodes[node].kind, NodeKind::Host(_))
    }

    /// The node that sends from a port.
    fn near(&self, port: u32) -> usize {
        self.plan.links[port as usize / 2].ends[port as usize % 2].node
    }

    fn far(&self, port: u32) -> usize {
        self.near(port ^ 1)
    }

    fn ports(&self) -> impl Iterator<Item = u32> + Clone {
        0..2 * self.plan.links.len() as u32
    }

    fn ports_of(&self, node: usize) -> impl Iterator<Item = u32> {
        self.ports().filter(move |&port| self.near(port) == node)
    }

    /// The distance of a port, if that of an arrival at the far end of its link is `rest`.
    fn over(&self, port: u32, rest: Duration) -> Duration {
        self.engine.wire(PortId(port)).delay() + rest
    }

    /// The ports from which what arrives over the link that `port` feeds may go on, or be answered. What a host sends does
    /// not come back to it unless another host answers.
    fn onward(&self, port: u32) -> impl Iterator<Item = u32> {
        let far = self.far(port);
        let answers = self.is_host(far) || !self.is_host(self.near(port));
        self.ports_of(far).filter(move |&onward| answers || onward != port ^ 1)
    }

    /// The distance of an arrival over each link direction: the shortest paths by Bellman (1958).
    fn arriving(&self) -> Vec<Duration> {
        let at_card = |port| if self.is_own(self.far(port)) { Duration::ZERO } else { UNREACHED };
        let mut distances: Vec<_> = self.ports().map(at_card).collect();
        loop {
            let shorter = |port: u32| {
                let onward = self.onward(port).map(|on| self.over(on, distances[on as usize]));
                onward.min().filter(|&found| found < distances[port as usize])
            };
            let found: Vec<_> =
                self.ports().filter_map(|port| Some((port, shorter(port)?))).collect();
            if found.is_empty() {
                return distances;
            }
            for (port, distance) in found {
                distances[port as usize] = distance;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::World;
    use traffic::Packets;

    use super::*;
    use crate::network::{Socket, sockets};

    /// Hosts `a` and `b` with kernels and the modelled host `m` at a router; `a` is at the router itself.
    const PLAN: &str = r#"
duration = "1 s"
[host.a]
kernel = "linux-6.12"
[host.b]
kernel = "linux-6.12"
[host.m]
[router.r]
[link.a]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.b]
between = ["r", "b"]
rate = "1 Gbit/s"
delay = "5 ms"
[link.m]
between = ["r", "m"]
rate = "1 Gbit/s"
delay = "1 ms"
[flow.f]
from = "a"
to = "b"
"#;

    fn ms(ms: u64) -> Duration {
        Duration::from_ms(ms)
    }

    fn plan() -> (Plan, Engine) {
        let plan =
            scenario::Document::parse("test", PLAN).and_then(|it| it.plan()).expect("a plan");
        let world = World::of_kernels(&plan, Packets::new()).expect("a world");
        (plan, Engine::new(world))
    }

    fn ports(own: &[Socket]) -> Vec<PortId> {
        own.iter().map(Socket::port).collect()
    }

    #[test]
    fn what_happens_elsewhere_is_as_far_as_the_links_between() {
        let (plan, engine) = plan();
        let both = sockets(&plan, 2);
        let ahead = Ahead::of(&plan, &engine, &ports(&both[0]));
        // From `a` to `m` and back; `a`'s own frame does not come back from the router.
        assert_eq!(ahead.answers_after(), ms(2));
        // Arrivals by the links: at r from a, at a, at b, at r from b, at m, at r from m.
        let zero = Duration::ZERO;
        assert_eq!(ahead.distances[..6], [ms(2), zero, zero, zero, ms(1), zero]);
        // Departures from their ports.
        assert_eq!(ahead.distances[6..12], [ms(2), zero, ms(5), ms(5), ms(2), ms(1)]);
        // The nodes a, b, m and r.
        assert_eq!(ahead.distances[12..], [ms(2), ms(5), ms(1), zero]);
        let slots = &ahead.distances_of_slots;
        assert_eq!((slots[6], slots[9], slots[7]), (zero, zero, zero));
        assert_eq!(slots[8], ms(5));
        assert_eq!(ahead.others_after, UNREACHED);
    }

    #[test]
    fn another_guest_is_as_far_as_its_links() {
        let (plan, engine) = plan();
        let each = sockets(&plan, 1);
        let [a, b] = [0, 1].map(|guest| Ahead::of(&plan, &engine, &ports(&each[guest])));
        assert_eq!((a.others_after, b.others_after), (ms(5), ms(5)));
        assert_eq!((a.answers_after(), b.answers_after()), (ms(2), ms(10)));
        let sends = Instant::ZERO + ms(7);
        assert_eq!(a.unchanged_until(&engine, sends, false), sends + ms(5));
    }
}
