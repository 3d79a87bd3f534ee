//! The fabric's queues for hosts that are stopped by PAUSE frames.
//!
//! If a real port is stopped, a host's packets wait in its kernel. TCP passes no more packets until those have left
//! (TCP small queues), so none are lost. In the lab, the fabric has already taken the packets, and the kernel counts
//! them as sent. So the fabric has room for full windows of all connections, instead of an interface's 1000 packets.

use base::Bytes;
use network::switch;
use scenario::Plan;
use scenario::plan::{Link, NodeKind, Transport};
use traffic::qdisc::{Parameters, fifo};

/// The size of such a queue: larger than any window.
const ROOM: Bytes = Bytes(1 << 40);

/// The switch that stops the host at end `end` of a link, if any.
fn stops<'a>(plan: &'a Plan, link: &Link, end: usize) -> Option<&'a switch::Config> {
    let [own, far] = [end, 1 - end].map(|end| &plan.nodes[link.ends[end].node].kind);
    match (own, far) {
        (NodeKind::Host(_), NodeKind::Switch(switch)) if switch.pauses() => Some(switch),
        _ => None,
    }
}

/// The plan as run by the fabric, with the larger queues. A queue that the scenario sets for a host is not changed.
pub(crate) fn widened(plan: &Plan) -> Plan {
    let mut widened = plan.clone();
    for (link, wide) in plan.links.iter().zip(&mut widened.links) {
        for end in 0..2 {
            let usual = stops(plan, link, end).map(switch::Config::far_queue);
            if usual.as_ref() == Some(&link.ends[end].queue) {
                widen(&mut wide.ends[end].queue);
            }
        }
    }
    widened
}

fn widen(queue: &mut Parameters) {
    match queue {
        Parameters::Fifo(fifo) => *fifo = fifo::Parameters::of_bytes(ROOM),
        Parameters::Ets(ets) => ets.classes.iter_mut().for_each(|class| widen(&mut class.queue)),
        _ => {}
    }
}

/// The maximum number of full packets in such queues: the windows of the stopped hosts' flows.
pub(crate) fn packets(plan: &Plan) -> u64 {
    let stopped = |node: usize| {
        let ends = plan.links.iter().flat_map(|link| [(link, 0), (link, 1)]);
        let mut own = ends.filter(|&(link, end)| link.ends[end].node == node);
        own.find_map(|(link, end)| stops(plan, link, end).map(|_| link.config.mtu.0.max(1)))
    };
    let window = |flow: &scenario::plan::Flow| match &flow.transport {
        Transport::Tcp(tcp) => {
            let window = tcp.sender.buffers.send.max().min(tcp.receiver.buffers.receive.max());
            stopped(flow.from).map_or(0, |mtu| window / mtu)
        }
        Transport::Udp(_) | Transport::Program(_) => 0,
    };
    plan.flows.iter().map(window).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(switch: &str, queue: &str) -> Plan {
        let text = format!(
            "duration = \"1 s\"\n[host.a]\n[host.b]\n[switch.x]\n{switch}\n\
             [link.near]\nbetween = [\"a\", \"x\"]\nrate = \"1 Gbit/s\"\n{queue}\n\
             [link.far]\nbetween = [\"x\", \"b\"]\nrate = \"1 Gbit/s\"\n\
             [flow.f]\nfrom = \"a\"\nto = \"b\"\ntcp.buffers.send = \"3 MB\"\n"
        );
        let document = scenario::Document::parse("x.toml", &text).expect("a scenario");
        document.plan().expect("a plan")
    }

    #[test]
    fn what_a_stopped_host_sends_finds_room() {
        for switch in ["lossless = 3", "pause = \"port\""] {
            let (plan, wide) = (plan(switch, ""), widened(&plan(switch, "")));
            let [host, switch] = [0, 1].map(|end| &wide.links[0].ends[end].queue);
            let fifo = match host {
                Parameters::Ets(ets) => &ets.classes[7].queue,
                queue => queue,
            };
            let Parameters::Fifo(fifo) = fifo else { panic!("{fifo:?}") };
            assert_eq!((fifo.packets, fifo.bytes), (None, Some(ROOM)));
            assert_eq!(*switch, plan.links[0].ends[1].queue, "no host's");
            assert_eq!(packets(&plan), 2_000);
        }
        let given = "at.a.queue.fifo.packets = 7";
        for (switch, queue) in [("", ""), ("lossless = 3", given), ("qcn = 3", "")] {
            let plan = plan(switch, queue);
            assert_eq!(widened(&plan).links[0].ends[0].queue, plan.links[0].ends[0].queue);
        }
    }
}
