//! The congestion control of programs that choose none: CUBIC, or a warning.

use std::fs;

use serde_json::{Value, json};

use crate::faults::as_nobody;
use crate::ground::{Ground, Network, Run};
use crate::typed::{code, stderr};
use testbed::skip;

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

fn allowed() -> String {
    fs::read_to_string(ALLOWED).unwrap_or_default().trim().to_owned()
}

/// Skips `test`, and returns true, if hosts' programs cannot have CUBIC on this machine.
pub(crate) fn lacks_cubic(test: &str) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let has_bpf = cfg!(feature = "bpf") && mounts.contains(" cgroup2 ");
    let lacks = !allowed().split(' ').any(|name| name == "cubic") && !has_bpf;
    if lacks {
        skip(test, "it needs feature `bpf` and cgroup2, or cubic among what namespaces may have");
    }
    lacks
}

/// The substitutes that programs of the run had to use.
fn substitutions(run: &Run) -> Value {
    run.manifest()["lab"]["substitutions"].clone()
}

#[test]
fn programs_send_with_cubic_unless_they_choose() {
    let test = "programs' congestion control";
    let Some(ground) = Ground::take(test, &["iperf3"]) else { return };
    if lacks_cubic(test) {
        return;
    }
    let flow = |name: &str, options: &str| {
        format!(
            "[flow.{name}]\nfrom = \"a\"\nto = \"b\"\n\
             program = \"iperf3 -c {{to}} -p {{port}} -n 1M -J {options}\"\n\
             server = \"iperf3 -s -1 -p {{port}}\"\n"
        )
    };
    // The sender is the end that connects, the one that accepts, and one that asks for another algorithm.
    let flows = [("there", "", "cubic"), ("back", "-R", "cubic"), ("other", "-C reno", "reno")];
    let texts: String = flows.iter().map(|(name, options, _)| flow(name, options)).collect();
    let network = Network { duration: "4 s", ..Network::default() };
    let run = ground.run(&network.with(&texts), &[]);
    for (name, _, wanted) in flows {
        let report: Value = serde_json::from_str(&run.log(name)).expect("JSON");
        for end in ["sender_tcp_congestion", "receiver_tcp_congestion"] {
            assert_eq!(report["end"][end], wanted, "{name}: {end}");
        }
    }
    assert_eq!(substitutions(&run), json!([]));
}

#[test]
fn a_user_is_warned_when_programs_get_another() {
    let Some(ground) = Ground::take("a user's programs", &[]) else { return };
    let network = Network { duration: "0.5 s", ..Network::default() };
    let program = "[flow.program]\nfrom = \"a\"\nto = \"b\"\nprogram = \"true\"\n";
    let run = as_nobody(&ground, &network.with(program));
    if code(&run.output) == 3 {
        return skip("a user's programs", "users may not make namespaces here");
    }
    let told = stderr(&run.output);
    if allowed().split(' ').any(|name| name == "cubic") {
        assert_eq!(substitutions(&run), json!([]));
        return;
    }
    let command =
        format!("sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{} cubic\"", allowed());
    assert!(told.contains("warning: programs in hosts use `reno`, not `cubic`"), "{told}");
    assert!(told.contains(&command), "{told}");
    let all = substitutions(&run);
    assert!(all[0].as_str().is_some_and(|text| text.contains(&command)), "{all}");
    // Flows of the scenario's own set what they use.
    let own = "[flow.own]\nfrom = \"a\"\nto = \"b\"\ncongestion = \"kernel:cubic\"\n";
    let run = as_nobody(&ground, &network.with(own));
    assert_eq!(code(&run.output), 0, "{}", stderr(&run.output));
    assert_eq!(substitutions(&run), json!([]));
}
