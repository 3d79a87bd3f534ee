//! The line of a device that a policy has: its rate, and its transmit queues.

use serde_json::Value;

use crate::machine::{Machine, lacks};
use crate::{EVERYTHING, typed};

#[test]
fn a_line_with_another_rate_than_the_links_is_reported() {
    if lacks("a device whose line differs from the link") {
        return;
    }
    // A veth reports 10 Gbit/s.
    let machine = Machine::new(EVERYTHING);
    let plan = |queue: &str| {
        let words = format!(
            "{} host plan {} a --set flow.bulk.tcp=none --set 'link.wan.at.a.queue={{{queue}}}'",
            typed::SUIMON,
            machine.file()
        );
        // The machine may lack the module.
        machine.in_sysfs(&format!("{{ {words} || [ $? = 3 ]; }}")).expect("a plan")
    };
    let rate = "--set \"link.wan.rate=10 Gbit/s\" makes it the line's";
    let fairq = plan("fairq={class={x={priority=2,match={dscp=46}},y={}},default_class=\"y\"}");
    for part in [
        "fairq by sch_suimon, line 1 Gbit/s",
        "the line of eth0 has 10 Gbit/s, and sch_suimon sends at most 1 Gbit/s, the rate of link.wan",
        rate,
    ] {
        assert!(fairq.contains(part), "{part}: {fairq}");
    }
    let psp = plan("psp={rate=\"500 Mbit/s\"}");
    assert!(psp.contains("the line of eth0 has 10 Gbit/s, the scenario's 1 Gbit/s"), "{psp}");
    assert!(psp.contains(rate) && psp.contains("gaps = false"), "{psp}");
    let timed = plan("psp={rate=\"500 Mbit/s\",gaps=false}");
    assert!(timed.contains("psp by sch_suimon, rate 500 Mbit/s, line 1 Gbit/s"), "{timed}");
}

#[test]
fn several_transmit_queues_are_noted() {
    if lacks("a card with several transmit queues") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    machine.run("ip link add card numtxqueues 4 type veth peer name other");
    let words = format!(
        "{} host plan {} a --device card --set flow.bulk.tcp=none",
        typed::SUIMON,
        machine.file()
    );
    let plan = machine.in_sysfs(&words).expect("a plan");
    assert!(plan.contains("the 4 transmit queues of card share one qdisc"), "{plan}");
}

/// What the line of a device needs if frames fill the gaps. No device of a namespace takes such frames, nor has PAUSE
/// frames, so this is the plan; kernel/module/qemu.guest applies one to a card.
#[test]
fn a_line_of_gap_frames_has_one_short_queue() {
    if lacks("the line of gap frames") {
        return;
    }
    let machine = Machine::new(&EVERYTHING.replace("1 Gbit/s", "10 Gbit/s"));
    machine.run("ip link add card numtxqueues 4 type veth peer name other");
    machine.run("ip link set card up");
    let tagged = "ip link add tagged link card type vlan id 7 && ip link set tagged up";
    let has_vlans = machine.in_sysfs(tagged).is_some();
    if !has_vlans {
        testbed::unbuilt("a policy of a VLAN", "this kernel has no VLANs");
    }
    let plan = |device: &str, queue: &str| {
        let words = format!(
            "{} host plan {} a --device {device} --json --set flow.bulk.tcp=none --set 'link.wan.at.a.queue={{{queue}}}'",
            typed::SUIMON,
            machine.file()
        );
        // The machine may lack the module.
        let text = machine.in_sysfs(&format!("{{ {words} || [ $? = 3 ]; }}")).expect("a plan");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let queues = |plan: &Value| {
        let rows = plan["settings"].as_array().expect("a list").iter();
        let row = rows.into_iter().find(|row| row["setting"] == "card queues").cloned();
        row.map(|row| [row["is"].clone(), row["will_be"].clone()])
    };
    let filled = "psp={rate=\"500 Mbit/s\"}";
    for device in [Some("card"), has_vlans.then_some("tagged")].into_iter().flatten() {
        let plan = plan(device, filled);
        let wanted = ["rx 1 tx 4", "rx 1 tx 1"].map(Value::from);
        assert_eq!(queues(&plan), Some(wanted), "{plan:#}");
        let notes = plan["notes"].to_string();
        let tag = "tagged adds a VLAN tag of 4 bytes after its qdisc: a discipline of the line of card counts 24 B";
        assert_eq!(notes.contains(tag), device == "tagged", "{notes}");
        assert!(!notes.contains("share one qdisc"), "{notes}");
    }
    let timed = plan("card", &filled.replace("\"}", "\",gaps=false}"));
    assert_eq!(queues(&timed), None, "{timed:#}");
}
