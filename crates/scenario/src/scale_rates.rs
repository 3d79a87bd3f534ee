//! The same plan at a fraction of its rates, for a machine that does not keep up with them: times stay, and
//! whatever counts bits is divided, so that windows and queues hold the same time.

use std::num::NonZeroU64;
use std::sync::Arc;

use network::datagram;
use traffic::qdisc::psp::PacingRate;
use traffic::qdisc::{Parameters, fifo};
use traffic::{Bytes, Rate};
use transport::config::Buffer;

use crate::plan::{End, Flow, NodeKind, Plan, Transport};

impl Plan {
    /// This plan with rates and buffers divided by `by` and round trips as they are. `None` where a queue's
    /// settings are more than a rate and a limit, where queues change, where a rate follows a trace, and for programs,
    /// whose load is their own.
    pub fn slower(&self, by: NonZeroU64) -> Option<Self> {
        let mut plan = self.clone();
        if !plan.changes.is_empty() {
            return None;
        }
        for link in &mut plan.links {
            rate(&mut link.config.rate, by);
            for End { queue, direction, trace, .. } in &mut link.ends {
                if trace.is_some() {
                    return None;
                }
                rate(&mut direction.rate, by);
                regulate(queue, by)?;
                bytes(&mut direction.device_buffer, by);
            }
        }
        for node in &mut plan.nodes {
            if let NodeKind::Emulator(emulator) = &mut node.kind {
                rate(&mut emulator.rate, by);
                bytes(&mut emulator.buffer, by);
            }
        }
        plan.flows.iter_mut().try_for_each(|flow| load(flow, by))?;
        Some(plan)
    }
}

fn rate(rate: &mut Rate, by: NonZeroU64) {
    *rate = Rate::from_bits_per_second(rate.bits_per_second() / by).unwrap_or(Rate::MIN);
}

/// What is measured scales by itself.
fn pace(value: &mut PacingRate, by: NonZeroU64) {
    if let PacingRate::Given(given) = value {
        rate(given, by);
    }
}

fn bytes(bytes: &mut Bytes, by: NonZeroU64) {
    bytes.0 = bytes.0.div_ceil(by.get());
}

/// A discipline without classes; packets are as long as before, so their number is divided, too.
fn regulate(queue: &mut Parameters, by: NonZeroU64) -> Option<()> {
    match queue {
        Parameters::Fifo(fifo) => limit(fifo, by),
        Parameters::Psp(psp) if psp.classes.is_empty() => {
            psp.rate.iter_mut().for_each(|value| pace(value, by));
            limit(&mut psp.unclassified, by);
        }
        Parameters::Tbr(tbr) => {
            tbr.rate.iter_mut().for_each(|value| rate(value, by));
            tbr.bucket.iter_mut().for_each(|value| bytes(value, by));
            regulate(&mut tbr.queue, by)?;
        }
        _ => return None,
    }
    Some(())
}

fn limit(fifo: &mut fifo::Parameters, by: NonZeroU64) {
    fifo.packets.iter_mut().for_each(|packets| *packets = packets.div_ceil(by.get()));
    fifo.bytes.iter_mut().for_each(|value| bytes(value, by));
}

fn load(flow: &mut Flow, by: NonZeroU64) -> Option<()> {
    match &mut flow.transport {
        Transport::Tcp(tcp) => {
            for end in [&mut tcp.sender, &mut tcp.receiver] {
                let end = Arc::make_mut(end);
                // It is what bounds the window. A send buffer bounds it only where it is too small.
                if let Buffer::Fixed(size) = &mut end.buffers.receive {
                    *size = size.div_ceil(by.get());
                }
                let pace = &mut end.emission.pacing_rate_max;
                *pace = if *pace == u64::MAX { u64::MAX } else { *pace / by };
            }
            tcp.reader.rate.iter_mut().for_each(|value| rate(value, by));
        }
        Transport::Udp(datagram::Config { rate: load, .. }) => rate(load, by),
        Transport::Program(_) => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    const PATH: &str = r#"
title = "A paced flow"
duration = "1 s"
[host.a]
[host.b]
[emulator.wan]
rate = "62.5 MB/s"
delay = "100 ms"
buffer = "512 KiB"
[link.west]
between = ["a", "wan"]
rate = "1 Gbit/s"
[link.west.at.a.queue.psp]
rate = "62.5 MB/s"
[link.east]
between = ["wan", "b"]
rate = "1 Gbit/s"
[flow.bulk]
from = "a"
to = "b"
receiver_tcp.buffers.receive = "32 MiB"
"#;
    const FOUR: NonZeroU64 = NonZeroU64::new(4).unwrap();

    fn plan(more: &str) -> Plan {
        Document::parse("path", &format!("{PATH}{more}")).and_then(|d| d.plan()).expect("a plan")
    }

    #[test]
    fn rates_and_buffers_are_divided_and_times_are_not() {
        let slower = plan("").slower(FOUR).expect("nothing that cannot be");
        let by_hand = PATH
            .replace("62.5 MB/s", "15.625 MB/s")
            .replace("1 Gbit/s", "0.25 Gbit/s")
            .replace("512 KiB", "128 KiB")
            .replace("32 MiB", "8 MiB");
        let by_hand = Document::parse("path", &by_hand).and_then(|d| d.plan()).expect("a plan");
        // But for the queue of the port without a discipline, which by hand is as long as ever.
        let lock = crate::lock(&slower).replace("packets = 250", "packets = 1000");
        assert_eq!(lock, crate::lock(&by_hand));
    }

    #[test]
    fn what_has_settings_of_its_own_is_left() {
        let program = "[flow.p]\nfrom = \"a\"\nto = \"b\"\nprogram = \"ping {to}\"\n";
        assert!(plan(program).slower(FOUR).is_none());
        let class = "[link.east.at.b.queue.drr.class]\nall = {}\n";
        assert!(plan(class).slower(FOUR).is_none());
    }
}
