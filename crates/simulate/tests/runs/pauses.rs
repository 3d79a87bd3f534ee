//! The recording of the pauses of a run's switches.

use network::{Event, Observer, PortId};
use record::{PauseRow, Recorder, TableRow, Totals};
use scenario::Plan;
use traffic::Control;

use crate::driver;

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

/// Passes everything on, and stores the pause frames of a port: time and quanta.
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

/// Each frame that stops or resumes a port is in the capture where it left, in order and at its time.
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
        let shown =
            driver::tshark(folder.path(), &[&["-Y", filter.as_str()], &frames[..]].concat());
        let expected: String = said
            .iter()
            .map(|(ns, quanta)| {
                format!("{}.{:09}\t60\t{quanta}\n", ns / 1_000_000_000, ns % 1_000_000_000)
            })
            .collect();
        assert_eq!(shown, expected, "{pause}");
        assert_eq!(driver::tshark(folder.path(), &["-Y", "_ws.malformed"]), "", "{pause}");
        // ACKs between them, all in the order of time.
        let all = driver::tshark(folder.path(), &["-T", "fields", "-e", "frame.time_epoch"]);
        let times: Vec<&str> = all.lines().collect();
        assert!(times.len() > said.len() && times.is_sorted(), "{pause}");
    }
}

/// The pause samples of a run of `plan`, each with its port's name, and the totals.
fn sampled(plan: &Plan) -> (Vec<(String, PauseRow)>, Totals) {
    let mut recorder = Recorder::new(plan, None).expect("a recorder");
    let totals = driver::totals_observed(plan, &mut recorder);
    let recording = recorder.finish(&totals).expect("it records");
    let mut rows = Vec::new();
    let keep = |row: &PauseRow, names: &record::Names| {
        rows.push((names.text(row.port).to_owned(), *row));
    };
    recording.pauses.each(keep).expect("a table");
    (rows, totals)
}

/// Samples increase with time, by no more than the time that passes, to the totals; ports that are never
/// stopped have none.
#[test]
fn samples_of_pauses_lead_to_the_totals() {
    const EVERY: u64 = 50_000;
    for pause in ["priority", "port"] {
        let plan = incast(pause, "[probe.queues]\nevery = \"50 us\"");
        let (rows, totals) = sampled(&plan);
        let names = ["s.1:in.1", "s.4:in.4", "sw:in.1", "sw:in.4", "sw:out", "sink:out"];
        for name in names {
            let of: Vec<&PauseRow> =
                rows.iter().filter(|(port, _)| port == name).map(|(_, row)| row).collect();
            let at = port(&plan, name);
            let counted = totals.ports[at.0 as usize].flow_control.expect("a link with pauses");
            let silent = counted.pauses_sent == 0 && counted.pauses_received == 0;
            assert_eq!(silent, name.contains("out"), "{pause} {name}");
            assert_eq!(of.is_empty(), silent, "{pause} {name}");
            let (Some(first), Some(last)) = (of.first(), of.last()) else { continue };
            let told = |row: &PauseRow| row.sent_frames + row.received_frames;
            assert_eq!((told(first), first.paused_ns()), (0, [0; 8]), "{pause} {name}");
            for pair in of.windows(2) {
                assert_eq!(pair[1].time_ns - pair[0].time_ns, EVERY, "{pause} {name}");
                for (before, now) in pair[0].paused_ns().into_iter().zip(pair[1].paused_ns()) {
                    // Rounded to nanoseconds.
                    assert!(now >= before && now - before <= EVERY + 1, "{pause} {name}");
                }
            }
            let stopped = counted.stopped.map(|time| time.as_ns());
            let end = (last.time_ns, last.sent_frames, last.received_frames, last.paused_ns());
            let expected = (4_000_000, counted.pauses_sent, counted.pauses_received, stopped);
            assert_eq!(end, expected, "{pause} {name}");
            let which = |ns: u64| u8::from(ns > 0);
            let expected = match (name.starts_with("sw"), pause) {
                (true, _) => [0; 8],
                (false, "port") => [1; 8],
                (false, _) => [0, 0, 0, 1, 0, 0, 0, 0],
            };
            assert_eq!(stopped.map(which), expected, "{pause} {name}");
        }
    }
}

/// A run without pauses has no table of them, with switches that could pause and without.
#[test]
fn a_switch_that_stops_nothing_leaves_no_samples() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |plan: &Plan, name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).expect("a folder");
        let mut recorder = Recorder::new(plan, Some(&path)).expect("a recorder");
        let totals = driver::totals_observed(plan, &mut recorder);
        recorder.finish(&totals).expect("it records");
        path.join(PauseRow::FILE).exists()
    };
    let text = r#"
        duration = "1 ms"
        [host.a]
        [host.b]
        [switch.sw]
        LOSSLESS
        [link.l]
        between = ["a", "sw"]
        rate = "1 Gbit/s"
        [link.m]
        between = ["sw", "b"]
        rate = "1 Gbit/s"
        [flow.f]
        from = "a"
        to = "b"
        [probe.queues]
        every = "100 us"
        "#;
    assert!(!run(&driver::plan(&text.replace("LOSSLESS", "")), "plain"));
    assert!(!run(&driver::plan(&text.replace("LOSSLESS", "lossless = 0")), "lossless"));
}
