//! Stalls made on purpose: the run says which results they spoil.

use std::fs;
use std::process::{Command, Stdio};

use crate::ground::{Ground, Network};
use crate::typed::stderr;

/// Keeps a processor from everything else for 15 ms of each second, until its standard input ends.
const HOG: &str = r#"
import select, sys, time
while not select.select([sys.stdin], [], [], 0.985)[0]:
    end = time.monotonic() + 0.015
    while time.monotonic() < end: pass
"#;

/// The first processor that this process may use: one of the hosts'.
fn processor() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = list.and_then(|list| list.trim().split([',', '-']).next());
    first.expect("a list").to_owned()
}

#[test]
fn a_stall_that_overflows_a_shallow_buffer_is_reported_with_its_burst() {
    let test = "stalls";
    let Some(ground) = Ground::take(test, &["chrt", "taskset", "python3"]) else { return };
    // Twenty full frames, 12 ms.
    let network = Network {
        duration: "6 s",
        rate: "20 Mbit/s",
        delay: "15 ms",
        buffer: "30360 B",
        ..Network::default()
    };
    let scenario = network.with("[flow.bulk]\nfrom = \"a\"\nto = \"b\"\n");
    let mut hog = Command::new("taskset")
        .args(["-c", &processor(), "chrt", "-f", "50", "python3", "-c", HOG])
        .stdin(Stdio::piped())
        .spawn()
        .expect("util-linux");
    let run = ground.run(&scenario, &[]);
    drop(hog.stdin.take());
    assert!(hog.wait().expect("it ends").success(), "it was not granted its priority");
    let lab = &run.manifest()["lab"];
    assert_eq!(lab["kept_up"], false, "{lab}");
    let drops = &lab["spoiled"][0]["drops"];
    assert_eq!(
        (&drops["port"], &drops["buffer_packets"]),
        (&"wan:east".into(), &20.into()),
        "{lab}"
    );
    assert!(drops["stall_ns"].as_u64().is_some_and(|ns| ns > 10_000_000), "{drops}");
    assert!(drops["burst_packets"].as_u64().is_some_and(|packets| packets > 30), "{drops}");
    let words = "goodput of `bulk` and drops at wan:east (stalls of up to";
    assert!(stderr(&run.output).contains(words), "{}", stderr(&run.output));
}
