//! What a run records of the pauses of its switches.

mod driver;

use std::path::Path;
use std::process::Command;

use network::{Event, Observer, PortId};
use record::Recorder;
use scenario::Plan;
use traffic::Control;

/// Four senders into one port of a switch that stops them by that kind of frames, captured where they leave.
fn incast(pause: &str, probes: &str) -> Plan {
    driver::plan(&format!(
        r#"
        duration = "4 ms"
        [host.s]
        count = 4
        [host.sink]
        [switch.sw]
        lossless = {lossless}
        pause = "{pause}"
        xoff = "20 kB"
        [link.in]
        between = ["s", "sw"]
        rate = "10 Gbit/s"
        delay = "1 us"
        [link.out]
        between = ["sw", "sink"]
        rate = "10 Gbit/s"
        delay = "1 us"
        [flow.f]
        from = "s"
        to = "sink"
        dscp = "cs3"
        {probes}
        "#,
        lossless = if pause == "port" { "\"0-7\"" } else { "3" },
    ))
}

/// The port at that end, as `NODE:LINK`.
fn port(plan: &Plan, name: &str) -> PortId {
    let names = record::rows::PlanNames::new(plan);
    let ports = (0..2 * plan.links.len() as u32).map(PortId);
    let mut ports = ports.map(|port| (port, names.port(port)));
    let texts = names.clone().into_names();
    let found = ports.find(|&(_, known)| texts.text(known) == name);
    found.unwrap_or_else(|| panic!("no port {name}")).0
}

/// Hands everything on, and keeps what a port said by pause frames: when, and for how many quanta.
struct Overheard<'a> {
    recorder: &'a mut Recorder,
    at: PortId,
    said: Vec<(u64, u16)>,
}

impl Observer for Overheard<'_> {
    fn on(&mut self, event: Event<'_>) {
        if let Event::Control { port, control: Control::Pause(pause), start, .. } = event
            && port == self.at
        {
            self.said.push((start.as_ns(), pause.quanta[3]));
        }
        self.recorder.on(event);
    }
}

fn tshark(folder: &Path, arguments: &[&str]) -> String {
    let file = folder.join(record::capture::FILE);
    let output = Command::new("tshark").arg("-n").arg("-r").arg(file).args(arguments).output();
    let output = output.expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Each frame that stops a port or lets it go on is in the capture where it left, in its order and at its time.
#[test]
fn a_capture_has_every_pause_frame() {
    let test = "a_capture_has_every_pause_frame";
    if testbed::lacks_programs(test, &["tshark"]) {
        return;
    }
    for (pause, opcode, time) in
        [("priority", "0x0101", "macc.cbfc.pause_time.c3"), ("port", "0x0001", "macc.pause_time")]
    {
        let plan = incast(pause, "[probe.capture.back]\nat = \"sw:in.2\"");
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::new(&plan, Some(folder.path())).expect("a recorder");
        let at = port(&plan, "sw:in.2");
        let mut overheard = Overheard { recorder: &mut recorder, at, said: Vec::new() };
        let totals = driver::totals_observed(&plan, &mut overheard);
        let said = overheard.said;
        recorder.finish(&totals).expect("it records");

        let counted = totals.ports[at.0 as usize].flow_control.expect("a link with pauses");
        assert_eq!(said.len() as u64, counted.pauses_sent, "{pause}");
        let resumed = said.iter().filter(|(_, quanta)| *quanta == 0).count();
        assert!(resumed > 10 && said.len() - resumed > 10, "{pause}: {said:?}");

        let frames = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", time];
        let filter = format!("macc.opcode == {opcode} && eth.dst == 01:80:c2:00:00:01");
        let shown = tshark(folder.path(), &[&["-Y", filter.as_str()], &frames[..]].concat());
        let expected: String = said
            .iter()
            .map(|(ns, quanta)| {
                format!("{}.{:09}\t60\t{quanta}\n", ns / 1_000_000_000, ns % 1_000_000_000)
            })
            .collect();
        assert_eq!(shown, expected, "{pause}");
        assert_eq!(tshark(folder.path(), &["-Y", "_ws.malformed"]), "", "{pause}");
        // ACKs between them, all in the order of time.
        let all = tshark(folder.path(), &["-T", "fields", "-e", "frame.time_epoch"]);
        let times: Vec<&str> = all.lines().collect();
        assert!(times.len() > said.len() && times.is_sorted(), "{pause}");
    }
}
