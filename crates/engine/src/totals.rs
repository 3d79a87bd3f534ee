//! The totals of a world's ports and nodes.

use network::Behaviour;
use network::host::Host;
use network::switch::Switch;
use record::totals::{NodeTotals, PortTotals, ProcessorTotals};
use traffic::Discipline;

use crate::engine::{Engine, notifications};
use crate::tally::Tally;

impl Engine {
    /// The totals of the ports, including the counts of `tally`.
    pub fn port_totals<O>(&self, tally: &mut Tally<O>) -> Vec<PortTotals> {
        let delays = tally.delays.counted();
        let drops = tally.ports.iter();
        let mut ports: Vec<_> =
            drops.map(|&drops| PortTotals { drops, ..PortTotals::default() }).collect();
        for (port, fault) in &tally.faults {
            ports[port.0 as usize].faults.push(fault.clone());
        }
        for node in &self.world().nodes {
            for (number, port) in node.ports().iter().enumerate() {
                let totals = &mut ports[port.id().0 as usize];
                totals.statistics = port.statistics();
                totals.impairments = self.world().channels[port.id().0 as usize].wire.counters();
                let delays = delays.get(port.id().0 as usize);
                totals.delays = delays.cloned();
                totals.flow_control = port.flow_control(self.now());
                totals.notifications = notifications(node, number);
                totals.headroom = node.as_switch().map(|switch| switch.headroom(number as u32));
                port.qdisc().classes(&mut |class, name, counted| {
                    totals.classes.push((name.to_owned(), counted));
                    totals.sojourns.extend(delays.map(|delays| delays.of_class(class, name)));
                });
                port.qdisc().relaxed(&mut |_, relaxed| totals.relaxed.push(relaxed));
                port.qdisc().measured(&mut |class, measured| {
                    totals.measured.push((class.to_owned(), measured));
                });
                if let Some(conditioner) = node.ingress().conditioner(number) {
                    let elements = &mut totals.elements;
                    conditioner
                        .elements(&mut |name, counts| elements.push((name.to_owned(), counts)));
                }
            }
        }
        ports
    }

    /// The totals of the nodes, including the counts of `tally`.
    pub fn node_totals<O>(&self, tally: &Tally<O>) -> Vec<NodeTotals> {
        let each = self.world().nodes.iter().zip(&tally.nodes).map(|(node, &drops)| NodeTotals {
            drops,
            memory: node.as_switch().map(Switch::occupancy),
            processor: node.as_host().and_then(processor),
        });
        each.collect()
    }
}

/// The totals of a host's processor; `None` without a modelled processor.
fn processor(host: &Host) -> Option<ProcessorTotals> {
    let times = host.processor_times()?;
    Some(ProcessorTotals { times, memory_copy: host.memory_copy() })
}
