//! The same plan at a fraction of its rates, for a machine that cannot keep up. Times are unchanged, and all
//! quantities in bits are divided, so that windows and queues hold the same time.

use std::num::NonZeroU64;
use std::sync::Arc;

use base::setting::Value;
use base::thresholds::Thresholds;
use base::{Bytes, Rate};
use network::switch;
use traffic::qdisc::psp::PacingRate;
use traffic::qdisc::{Parameters, fifo};
use transport::config::Buffer;

use crate::plan::{End, Flow, NodeKind, Plan, Transport, headrooms};

impl Plan {
    /// This plan with rates and buffers divided by `by` and unchanged round trips. `None` if a queue has more
    /// settings than a rate and limits, if queues change, if a rate follows a trace, if a switch would have no shared
    /// memory left, and for programs, because their load is not in the plan.
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
        for (number, node) in plan.nodes.iter_mut().enumerate() {
            match &mut node.kind {
                NodeKind::Emulator(emulator) => {
                    rate(&mut emulator.rate, by);
                    bytes(&mut emulator.buffer, by);
                }
                NodeKind::Switch(switch) => {
                    share(switch, by);
                    switch.shared(headrooms(number, &plan.links)).ok()?;
                }
                _ => {}
            }
        }
        plan.flows.iter_mut().try_for_each(|flow| load(flow, by))?;
        Some(plan)
    }
}

fn rate(rate: &mut Rate, by: NonZeroU64) {
    *rate = Rate::from_bits_per_second(rate.bits_per_second() / by).unwrap_or(Rate::MIN);
}

/// Divides a given rate; a measured rate scales by itself.
fn pace(value: &mut PacingRate, by: NonZeroU64) {
    if let PacingRate::Given(given) = value {
        rate(given, by);
    }
}

fn bytes(bytes: &mut Bytes, by: NonZeroU64) {
    bytes.0 = bytes.0.div_ceil(by.get());
}

/// Divides a packet memory and the thresholds of its queues. The reserve of a port is a few frames and unchanged; the
/// headroom follows from the link unless it is given.
fn share(switch: &mut switch::Config, by: NonZeroU64) {
    bytes(&mut switch.buffer, by);
    for given in [&mut switch.xoff, &mut switch.headroom].into_iter().flatten() {
        bytes(given, by);
    }
    if let Some(Thresholds { min, max, .. }) = &mut switch.ecn {
        bytes(min, by);
        max.iter_mut().for_each(|max| bytes(max, by));
    }
}

/// Divides queues without per-class rates. Packets have the same length, so their number is divided, too.
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
        Parameters::Mark(mark) => {
            bytes(&mut mark.threshold, by);
            mark.threshold_max.iter_mut().for_each(|max| bytes(max, by));
            mark.packets.iter_mut().for_each(|packets| *packets = packets.div_ceil(by.get()));
            mark.bytes.iter_mut().for_each(|limit| bytes(limit, by));
        }
        Parameters::Ets(ets) => {
            ets.classes.iter_mut().try_for_each(|class| regulate(&mut class.queue, by))?;
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
            let tcp = Arc::make_mut(tcp);
            for end in [&mut tcp.sender, &mut tcp.receiver] {
                let end = Arc::make_mut(end);
                // The receive buffer bounds the window. A send buffer bounds it only if it is too small.
                match &mut end.buffers.receive {
                    Buffer::Fixed(size) => *size = size.div_ceil(by.get()),
                    Buffer::Auto { initial, max } => *max = max.div_ceil(by.get()).max(*initial),
                }
                let pace = &mut end.emission.pacing_rate_max;
                *pace = if *pace == u64::MAX { u64::MAX } else { *pace / by };
            }
            tcp.reader.rate.iter_mut().for_each(|value| rate(value, by));
        }
        Transport::Udp(udp) => {
            let settings = udp.workload.settings_mut()?;
            let Some(Value::Rate(mut given)) = settings.get("rate") else { return None };
            rate(&mut given, by);
            settings.set("rate", Value::Rate(given));
        }
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

    /// The defaults that dividing a scenario by hand does not change, because they are not written in it: an
    /// interface's queue, and the sender's own receive buffer.
    fn defaults_divided(by_hand: &Plan) -> String {
        let lock = crate::lock(by_hand).replace("packets = 1000", "packets = 250");
        lock.replace("max = \"6 MiB\"", "max = \"1536 KiB\"")
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
        assert_eq!(crate::lock(&slower), defaults_divided(&by_hand));
    }

    #[test]
    fn a_switch_keeps_as_much_time_and_its_last_frames() {
        const LOSSLESS: &str = r#"
title = "A lossless port"
duration = "1 s"
[host.server]
count = 2
[switch.adapter]
lossless = 0
buffer = "1 MB"
xoff = "200 kB"
ecn = "100 kB"
[link.wire]
between = ["server.1", "adapter"]
rate = "10 Gbit/s"
[link.bus]
between = ["adapter", "server.2"]
rate = "10 Gbit/s"
[flow.bulk]
from = "server.1"
to = "server.2"
receiver_tcp.buffers.receive = { initial = "131072 B", max = "6 MB" }
"#;
        let plan = |text: &str| Document::parse("lossless", text).and_then(|d| d.plan()).unwrap();
        let by_hand = LOSSLESS
            .replace("10 Gbit/s", "2.5 Gbit/s")
            .replace("\"1 MB", "\"250 kB")
            .replace("200 kB", "50 kB")
            .replace("100 kB", "25 kB")
            .replace("6 MB", "1.5 MB");
        let slower = plan(LOSSLESS).slower(FOUR).expect("nothing that cannot be");
        assert_eq!(crate::lock(&slower), defaults_divided(&plan(&by_hand)));
        // The reserve of two ports is not divided, and nothing else remains here.
        let small = plan(&LOSSLESS.replace("\"1 MB", "\"300 kB"));
        assert!(small.slower(FOUR).is_some());
        assert!(small.slower(NonZeroU64::new(8).unwrap()).is_none());
    }

    #[test]
    fn what_has_settings_of_its_own_is_left() {
        let program = "[flow.p]\nfrom = \"a\"\nto = \"b\"\nprogram = \"ping {to}\"\n";
        assert!(plan(program).slower(FOUR).is_none());
        let class = "[link.east.at.b.queue.drr.class]\nall = {}\n";
        assert!(plan(class).slower(FOUR).is_none());
    }
}
