//! Tables of switches: their plans, their errors, and their lock files.

use base::thresholds::Thresholds;
use base::{Bytes, Priorities, Share};
use network::switch::Config;
use scenario::plan::NodeKind;
use scenario::{Document, Plan};
use traffic::qdisc::Parameters;

fn text(switch: &str, host: &str) -> String {
    format!(
        "duration = \"1 s\"\n[host.a]\n{host}\n[host.b]\n[switch.x]\n{switch}\n\
         [link.near]\nbetween = [\"a\", \"x\"]\nrate = \"1 Gbit/s\"\n\
         [link.far]\nbetween = [\"x\", \"b\"]\nrate = \"1 Gbit/s\"\n\
         [flow.f]\nfrom = \"a\"\nto = \"b\"\n"
    )
}

fn plan(text: &str) -> Result<Plan, String> {
    let document = Document::parse("x.toml", text).map_err(|e| e.to_string())?;
    document.plan().map_err(|e| e.to_string())
}

/// The plan, checked to be equal to that of its lock file.
fn locked(switch: &str, host: &str) -> Plan {
    let plan = self::plan(&text(switch, host)).expect("a plan");
    let locked = scenario::lock(&plan);
    let again = self::plan(&locked).expect("a lock file is a scenario");
    assert_eq!(scenario::lock(&again), locked);
    assert_eq!(config(&again), config(&plan), "{locked}");
    plan
}

fn config(plan: &Plan) -> Config {
    let of = |kind: &NodeKind| match kind {
        NodeKind::Switch(config) => Some(*config),
        _ => None,
    };
    plan.nodes.iter().find_map(|node| of(&node.kind)).expect("a switch")
}

fn refused(switch: &str) -> String {
    plan(&text(switch, "")).expect_err(switch)
}

#[test]
fn queues_notify_of_congestion_by_the_settings_of_the_standard() {
    let plan = locked(
        "qcn = \"3-4\"\nqcn_weight = 4",
        "qcn = { ai_rate = \"50 Mbit/s\", gain = \"1/64\" }",
    );
    let config = config(&plan);
    assert_eq!(config.qcn, Priorities::one(3).with(Priorities::one(4)));
    assert_eq!((config.qcn_set_point, config.qcn_weight), (Bytes(26_000), 4));
    assert!(plan.has_notifications());
    let NodeKind::Host(host) = &plan.nodes[0].kind else { panic!("a host first") };
    let qcn = host.qcn.expect("given");
    assert_eq!((qcn.gain, qcn.threshold, qcn.enable), ((1, 64), 5, true));
    // One queue per priority, so that a notification does not wait behind the traffic that it reports.
    assert!(matches!(plan.links[0].ends[1].queue, Parameters::Ets(_)));
    assert!(!locked("lossless = 3", "").has_notifications());

    assert!(refused("qcn = 8").contains("invalid priority `8`"));
    assert!(refused("qcn = 3\nqcn_priority = 9").contains("`qcn_priority` cannot be 9"));
    let text = text("qcn = 3", "qcn = { gain = \"2/1\" }");
    assert!(self::plan(&text).expect_err("gain").contains("a fraction above one"));
    let expecting = "[expect.link.near]\ncnms_sent = { max = 0 }\n";
    let none = self::plan(&(self::text("lossless = 3", "") + expecting)).expect_err("none");
    assert!(
        none.contains(
            "no switch sends congestion notifications for `near`: there is no `cnms_sent`"
        ),
        "{none}"
    );
}

#[test]
fn code_points_have_priorities_by_name_number_or_range() {
    let map = |text: &str| config(&locked(text, "")).dscp.expect("a map");
    let one = map("dscp = { ef = 4, 26 = 3, \"32-39\" = 0 }");
    let given: Vec<(u8, u8)> = one.given().collect();
    let range = (32..40).map(|dscp| (dscp, 0));
    assert_eq!(given, [range.collect::<Vec<_>>(), vec![(46, 4)]].concat());
    assert_eq!([one.priority(26), one.priority(24), one.priority(0)], [3, 3, 0]);
    assert_eq!(map("dscp = \"EF:4 26:3,32-39:0\""), one, "as `dcb app` takes it");
    assert_eq!(map("dscp = {}").given().count(), 0);
    assert_eq!(config(&locked("", "")).dscp, None);

    for (table, place, message) in [
        ("dscp = { ef = 8 }", "6:15", "invalid priority `8`"),
        ("dscp = { 64 = 1 }", "6:15", "invalid code point `64`"),
        ("dscp = { 26 = 3, af31 = 4 }", "6:25", "code point 26 has two priorities, 3 and 4"),
        ("dscp = \"ef=5\"", "6:8", "`ef=5` does not map a code point to a priority"),
        ("dscp = 5", "6:8", "`5` does not map a code point to a priority"),
    ] {
        let said = refused(table);
        assert!(said.contains(message) && said.starts_with(&format!("x.toml:{place}")), "{said}");
    }
}

#[test]
fn priorities_become_others_by_number_or_range() {
    let map = |text: &str| config(&locked(text, "")).pcp.expect("a table");
    let one = map("pcp = { 5 = 3, \"0-2\" = 1 }");
    assert_eq!(one.given().collect::<Vec<_>>(), [(0, 1), (2, 1), (5, 3)]);
    assert_eq!((0..8).map(|pcp| one.priority(pcp)).collect::<Vec<_>>(), [1, 1, 1, 3, 4, 3, 6, 7]);
    assert_eq!(map("pcp = \"5:3 0-2:1\""), one);
    assert_eq!(map("pcp = {}").given().count(), 0);
    assert_eq!(config(&locked("dscp = { ef = 4 }", "")).pcp, None);

    for (table, place, message) in [
        ("pcp = { 5 = 8 }", "6:13", "invalid priority `8`"),
        ("pcp = { 8 = 1 }", "6:13", "invalid received priority `8`"),
        ("pcp = { 5 = 3, \"4-6\" = 4 }", "6:24", "received priority 5 has two priorities, 3 and 4"),
        ("pcp = \"5=3\"", "6:7", "`5=3` does not map a received priority to a priority"),
        ("pcp = 5", "6:7", "`5` does not map a received priority to a priority"),
    ] {
        let said = refused(table);
        assert!(said.contains(message) && said.starts_with(&format!("x.toml:{place}")), "{said}");
    }
}

/// A pause frame pauses a priority at the sender, before regeneration.
#[test]
fn what_a_pause_frame_does_not_stop_is_reported() {
    let warnings = |switch: &str, host: &str| -> Vec<String> {
        let text = text(switch, host).replace("to = \"b\"\n", "to = \"b\"\ndscp = \"cs5\"\n");
        let plan = plan(&text).expect("a plan");
        let unstopped = |w: &scenario::Warning| w.kind == scenario::Kind::Unstopped;
        scenario::physics(&plan).iter().filter(|w| unstopped(w)).map(ToString::to_string).collect()
    };
    let said = warnings("lossless = 3\npcp = \"5:3\"", "");
    assert_eq!(
        said,
        [
            "`a` sends packets of `flow.f` with priority 5, which becomes 3 in `x`: a pause frame for 3 does \
             not pause 5, and packets without buffer space are lost: use the same lossless priority on both \
             ends of a link, by `pcp` and `dscp`"
        ]
    );
    // With a host's own map, which the switch does not have.
    assert_eq!(warnings("lossless = 5", "dscp = \"cs5:4\"").len(), 0, "4 is lossy there");
    assert_eq!(warnings("dscp = \"cs5:3\"\nlossless = 3", "dscp = \"cs5:4\"").len(), 1);
    for fine in [
        "lossless = 3\npcp = \"5:4\"",
        "lossless = 5\npcp = \"3:5\"",
        "lossless = 5\npcp = \"5:3\"",
        "pcp = \"5:3\"\npause = \"port\"",
        "lossless = 3\ndscp = \"cs5:3\"\npcp = \"5:4\"",
    ] {
        assert_eq!(warnings(fine, ""), Vec::<String>::new(), "{fine}");
    }
}

/// A host uses the map of its switch, or its own.
#[test]
fn hosts_have_the_priorities_of_the_switch_that_they_hang_on() {
    let priorities = |plan: &Plan| -> Vec<Option<u8>> {
        plan.priorities().iter().map(|map| map.map(|map| map.priority(46))).collect()
    };
    // The hosts, then the switch itself.
    assert_eq!(priorities(&locked("dscp = { ef = 3 }", "")), [Some(3), Some(3), None]);
    let own = locked("dscp = { ef = 3 }", "dscp = \"ef:2\"");
    assert_eq!(priorities(&own), [Some(2), Some(3), None]);
    assert_eq!(priorities(&locked("", "")), [None; 3]);
}

#[test]
fn thresholds_make_the_switchs_queues_mark() {
    let queue = |switch: &str| locked(switch, "").links[0].ends[1].queue.clone();
    let Parameters::Mark(one) = queue("ecn = \"100 kB\"") else { panic!("a queue that marks") };
    assert_eq!(
        (one.threshold, one.threshold_max, one.bytes),
        (Bytes(100_000), None, Some(Bytes(12_000_000)))
    );
    let two = "ecn = { min = \"100 kB\", max = \"400 kB\", probability = 0.25 }";
    let Parameters::Mark(two) = queue(two) else { panic!("a queue that marks") };
    assert_eq!((two.threshold_max, two.probability), (Some(Bytes(400_000)), Share(1 << 30)));
    let Parameters::Ets(ets) = queue("ecn = \"100 kB\"\nlossless = 3") else { panic!("classes") };
    assert!(ets.classes.iter().all(|class| matches!(class.queue, Parameters::Mark(_))));
    // The queues of hosts do not mark.
    let plan = locked("ecn = \"100 kB\"", "");
    assert!(matches!(plan.links[0].ends[0].queue, Parameters::Fifo(_)));
    assert_eq!(config(&plan).ecn, Some(Thresholds::one(Bytes(100_000))));

    for (table, message) in [
        ("ecn = 5", "the size `5` has no unit"),
        ("ecn = { min = \"100 kB\" }", "`ecn` lacks `max`"),
        (
            "ecn = { min = \"100 kB\", max = \"4 kB\" }",
            "the upper threshold is below the lower one",
        ),
        ("ecn = { min = \"100 kB\", max = \"400 kB\", probability = 2 }", "`2` is above 100 %"),
        ("ecn = { kmin = \"100 kB\", kmax = \"400 kB\" }", "`ecn` has no key `kmin`"),
    ] {
        let said = refused(table);
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn what_pauses_before_it_marks_is_reported() {
    let warnings = |switch: &str| -> Vec<String> {
        let plan = plan(&text(switch, "")).expect("a plan");
        let masked = |w: &scenario::Warning| w.message.contains("XOFF");
        scenario::physics(&plan).iter().filter(|w| masked(w)).map(ToString::to_string).collect()
    };
    let said = warnings("lossless = 3\nxoff = \"50 kB\"\necn = \"100 kB\"");
    assert_eq!(
        said,
        [
            "`x` marks from a queue of 100 kB on, but pauses a sender at 50 kB (XOFF): the queue of a single \
             sender never gets that long: lower `ecn`, or raise `xoff`"
        ]
    );
    let said = warnings("lossless = 3\nxoff = \"20 kB\"\nqcn = 3");
    assert!(said.len() == 1 && said[0].contains("lower `qcn_set_point`"), "{said:?}");
    for fine in [
        "lossless = 3\nxoff = \"200 kB\"\necn = \"100 kB\"\nqcn = 3",
        "ecn = \"100 kB\"",
        "lossless = 3\necn = \"100 kB\"",
    ] {
        assert_eq!(warnings(fine), Vec::<String>::new(), "{fine}");
    }
    // The default threshold is an eighth of the remaining 12 MB.
    assert_eq!(warnings("lossless = 3\necn = \"2 MB\"").len(), 1);
}
