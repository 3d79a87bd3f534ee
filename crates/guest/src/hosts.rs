//! What a guest's first program does: a network namespace for each host of the plan with its cards, and the
//! scenario's programs at their times.

use std::fmt::Write;
use std::net::IpAddr;

use scenario::Plan;
use scenario::plan::{NodeKind, Transport};
use traffic::{Duration, Instant};

use crate::network::Socket;

/// How long servers have to be ready before anything else begins, in the guest's time.
pub const HEAD_START: Duration = Duration::from_ms(500);

/// A shell's program for the plan whose cards are `eth0`, `eth1` and so on. What a program says goes into the file of its
/// owner's name in `logs`. It ends with the plan's duration.
pub fn program(plan: &Plan, sockets: &[Socket], logs: &str) -> String {
    let mut text = String::from(SETUP);
    for (node, host) in plan.nodes.iter().enumerate() {
        if !matches!(host.kind, NodeKind::Host(_)) {
            continue;
        }
        let name = format!("h{node}");
        line(&mut text, &format!("ip netns add {name}"));
        let within = |command: &str| format!("ip netns exec {name} {command}");
        line(&mut text, &within("ip link set lo up"));
        for (setting, value) in SYSCTL {
            let path = format!("/proc/sys/{}", setting.replace('.', "/"));
            line(&mut text, &within(&format!("sh -c 'echo \"{value}\" > {path}'")));
        }
        let prefix = if host.address.is_ipv4() { 32 } else { 128 };
        let mut first = true;
        for (card, _) in sockets.iter().enumerate().filter(|(_, own)| own.node == node) {
            line(&mut text, &format!("ip link set eth{card} netns {name}"));
            line(
                &mut text,
                &within(&format!("ip addr add {}/{prefix} dev eth{card}", host.address)),
            );
            line(&mut text, &within(&format!("ip link set eth{card} up")));
            if std::mem::take(&mut first) {
                line(&mut text, &within(&everything(host.address, card)));
            }
        }
    }
    commands(plan, logs, &mut text);
    text
}

/// The route by that card to everything: it is all on link, and the network answers for it.
fn everything(address: IpAddr, card: usize) -> String {
    let six = if address.is_ipv6() { "-6 " } else { "" };
    format!("ip {six}route add default dev eth{card} src {address}")
}

/// Servers at once, clients at their times.
fn commands(plan: &Plan, logs: &str, text: &mut String) {
    let quoted = |words: &[String]| {
        let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
        quoted.collect::<Vec<_>>().join(" ")
    };
    let mut clients: Vec<(Duration, String)> = Vec::new();
    for flow in &plan.flows {
        let Transport::Program(program) = &flow.transport else { continue };
        let run = |node: usize, words: &[String], log: &str| {
            format!("ip netns exec h{node} {} > {logs}/{log} 2>&1 &", quoted(words))
        };
        if let Some(server) = &program.server {
            line(text, &run(flow.to, server, &format!("{}.server", flow.name)));
        }
        let client = run(flow.from, &program.client, &flow.name);
        clients.push((flow.span.start - Instant::ZERO, client));
    }
    clients.sort_by_key(|(start, _)| *start);
    let mut now = Duration::ZERO;
    sleep(text, HEAD_START);
    for (start, client) in clients {
        sleep(text, Duration::from_ps(start.as_ps() - now.as_ps()));
        now = start;
        line(text, &client);
    }
    sleep(text, Duration::from_ps(plan.duration.as_ps().saturating_sub(now.as_ps())));
    line(text, "poweroff -ff");
    line(text, "sleep 10");
}

fn sleep(text: &mut String, time: Duration) {
    if time > Duration::ZERO {
        line(text, &format!("sleep {:.9}", time.as_secs_f64()));
    }
}

fn line(text: &mut String, line: &str) {
    let _ = writeln!(text, "{line}");
}

const SETUP: &str = "\
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
";

/// What a host is set to, as the lab's hosts are.
const SYSCTL: [(&str, &str); 6] = [
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.ip_local_port_range", "61000 65535"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.tcp_rmem", "4096 131072 33554432"),
    ("net.ipv4.tcp_wmem", "4096 16384 33554432"),
];
