//! Classes of the module as `tc` has them: shown, changed one by one, and led to by its filters.

use crate::module::{BULK, Bench, LINK};

/// `tc` shows the settings and the counters of each class; a class has no qdisc of the kernel's.
#[test]
fn tc_shows_what_each_class_sent() {
    let Some(bench) = Bench::new("classes of the module") else { return };
    let script = "load sch_suimon.ko
        tc qdisc replace dev eth0 root handle 5: psp line 1gbit class metro rate 500mbit end \
            class ocean rate 250mbit queue fifo packets 50 end end \
            filter metro destination $(getent hosts b | cut -d' ' -f1)/32 end filter ocean destination 192.0.2.0/24 end
        tc qdisc add dev eth0 parent 5:1 fq_codel 2>&1
        sleep 1.5; tc -s class show dev eth0; tc class show dev eth0 classid 5:2";
    let (said, _) = bench.run("1600 ms", script, &format!("{LINK}{BULK}"));
    let sent = |class: &str| -> u64 {
        let (_, rest) = said.split_once(&format!(" class {class} \n Sent ")).expect(&said);
        rest.split(' ').next().expect("a word").parse().expect(&said)
    };
    assert!(sent("metro rate 500000000") > 30_000_000, "{said}");
    // Of a class that sent nothing it is zero, and of one that is paced it is not.
    let delays: Vec<_> =
        said.lines().filter_map(|line| Some(line.split_once(" delay ")?.1)).collect();
    assert!(delays.len() == 3 && delays[0] != "0.0us" && delays[1] == "0.0us", "{said}");
    assert_eq!(sent("ocean rate 250000000 queue fifo packets 50 end"), 0, "{said}");
    assert!(sent("unclassified") < 100_000, "{said}");
    assert!(said.starts_with("RTNETLINK answers: Operation not supported\n"), "{said}");
    let last = "\nclass psp 5:2 parent 5: class ocean rate 250000000 queue fifo packets 50 end \n";
    assert!(said.ends_with(last), "{said}");
}

/// Filters of `tc` choose the class before the discipline's own, as does a socket's priority; what they lead to may come and
/// go, and a class keeps its number meanwhile.
#[test]
fn filters_of_tc_lead_to_classes() {
    let Some(bench) = Bench::new("filters of tc and the module") else { return };
    let script = "load sch_suimon.ko
        own=\"filter metro destination $(getent hosts b | cut -d' ' -f1)/32 protocol 17 end\"
        ocean='class ocean rate 200mbit end'
        psp=\"psp line 1gbit class metro rate 400mbit end class 10 rate 100mbit end $own\"
        tc qdisc replace dev eth0 root handle 5: $psp $ocean
        filter() { tc filter add dev eth0 parent 5: \"$@\" || echo failed; }
        send 7000 3; classes
        filter protocol ip prio 1 u32 match ip dport 7000 0xffff classid 5:2; send 7000 5; classes
        filter protocol ip prio 2 flower ip_proto udp dst_port 7001 classid 5:10; send 7001 7; classes
        filter protocol ip prio 3 handle 9 fw classid 5:2; send 7002 11 mark 9; classes
        send 7002 13 priority 0x50002; send 7002 2 priority 0x50063; send 7002 2 priority 6; classes
        filter protocol ip prio 4 flower ip_proto udp dst_port 7003 classid 5:77; send 7003 1; classes
        filter protocol ip prio 5 flower ip_proto udp dst_port 7004 action drop; send 7004 4; classes
        tc -s qdisc show dev eth0 | grep -o 'dropped [0-9]*'
        tc qdisc change dev eth0 root $psp; send 7000 5; send 7001 1; classes
        tc qdisc change dev eth0 root $psp $ocean; send 7000 5; send 7001 1; classes
        filter protocol ip prio 6 flower ip_proto tcp classid 5:10
        sleep 4; tc -s class show dev eth0 classid 5:10 | grep Sent
        filter protocol all prio 7 matchall classid 5:3; send 7005 9
        tc -s qdisc show dev eth0 | grep -c broken
        tc filter del dev eth0 parent 5: prio 1; send 7000 1; classes
        tc qdisc del dev eth0 root; unload sch_suimon && echo gone";
    let (said, _) = bench.run("8 s", script, &format!("{LINK}{}", BULK.replace("500 ms", "3 s")));
    let lines: Vec<_> = said.lines().collect();
    // The rest are the kernel's own packets, such as ARP.
    let expected = [
        "5:1=3 5:10=0 5:2=0 ",
        "5:1=3 5:10=0 5:2=5 ",
        "5:1=3 5:10=7 5:2=5 ",
        "5:1=3 5:10=7 5:2=16 ",
        "5:1=7 5:10=7 5:2=29 ",
        "5:1=8 5:10=7 5:2=29 ",
        "5:1=8 5:10=7 5:2=29 ",
        "dropped 4",
        "5:1=13 5:10=8 5:3=",
        "5:1=13 5:10=9 5:2=5 5:3=",
    ];
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line} is not {expected}\n{said}");
    }
    let [sent, broken, last, gone] = lines[expected.len()..] else { panic!("{said}") };
    let sent: u64 = sent.split_whitespace().nth(1).and_then(|it| it.parse().ok()).expect(&said);
    assert!(sent > 1_000_000, "{said}");
    assert_eq!((broken, gone), ("0", "gone"), "{said}");
    assert!(last.starts_with("5:1=13 "), "{said}");
}

/// A packet has the priority that its socket set, or else the class selector of its DSCP, not what Linux derives from that.
#[test]
fn a_packets_priority_is_its_sockets() {
    let Some(bench) = Bench::new("priorities in the module") else { return };
    let script = "load sch_suimon.ko
        tc qdisc replace dev eth0 root handle 5: suimon line 1gbit ets \
            class 6 priorities 64 end class 5 priorities 32 end class 2 priorities 4 end class 1 end
        send 7000 1; send 7000 2 priority 6; send 7000 3 tos 0xb8; send 7000 5 tos 0x48
        send 7000 7 tos 0xb8 priority 2; send 7000 11 priority 9; classes";
    let (said, _) = bench.run("2 s", script, LINK);
    // 0xb8 is EF, from which Linux derives 4; the class selector of 0x48 is 2.
    assert!(said.starts_with("5:6=2 5:5=3 5:2=12 5:1="), "{said}");
}

/// `tc class` changes, adds and removes a class under load: nothing is lost, and what is refused says why.
#[test]
fn tc_changes_one_class() {
    let Some(bench) = Bench::new("changed classes of the module") else { return };
    let script = "load sch_suimon.ko
        tc qdisc replace dev eth0 root handle 5: psp line 1gbit class metro rate 400mbit end \
            class ocean rate 200mbit queue fifo packets 500 end end filter ocean destination_ports 7001-7001 end
        class() { verb=$1; shift; tc class $verb dev eth0 \"$@\" 2>&1; }
        tc filter add dev eth0 parent 5: protocol ip prio 1 flower ip_proto tcp classid 5:1
        sleep 1.5
        class change parent 5: classid 5:1 psp rate 100mbit
        class add parent 5: classid 5:20 psp rate 50mbit queue fifo packets 7 end
        class add parent 5:20 classid 5:21 psp rate 20mbit && class add parent 5: psp rate 1mbit
        tc filter add dev eth0 parent 5: protocol ip prio 2 flower ip_proto udp dst_port 7000 classid 5:21
        send 7000 3; send 7001 2; classes
        class change parent 5: classid 5:21 psp rate 10mbit; class change parent 5: classid 5:77 psp rate 10mbit
        class add parent 5: classid 5:30 psp rate 1gbit; class add parent 5: classid 5:30 psp rate fast
        class add parent 5: classid 5:ffff psp rate 1mbit; class add parent 5:99 classid 5:31 psp rate 1mbit
        class add parent 5: classid 5:2 psp rate 1mbit; class change parent 5: classid 5:3 psp rate 1mbit
        class change parent 5: classid 5:2 psp line 1gbit | head -1
        class del classid 5:2; class del classid 5:20; class del classid 5:21
        tc filter del dev eth0 parent 5: prio 2
        class del classid 5:21 && class del classid 5:20 && echo deleted
        tc class show dev eth0; tc -s qdisc show dev eth0 | grep -oE 'dropped [0-9]+|broken'";
    let (said, _) = bench.run("4 s", script, &format!("{LINK}{BULK}"));
    let expected = [
        "5:1=",
        "RTNETLINK answers: No such file or directory",
        "Error: sch_suimon: ",
        "Error: sch_suimon: line ",
        "Error: sch_suimon: the number of a class must be 1 to fffe.",
        "Error: sch_suimon: there is no class of the parent's number.",
        "RTNETLINK answers: File exists",
        "Error: sch_suimon: the class has no settings of its own: change the qdisc.",
        "psp: \"line\" is of the qdisc, not of a class",
        "Error: sch_suimon: filter 1 leads to the class `ocean`, which does not exist: name one of ",
        "Error: sch_suimon: class `21` has the parent `20`, which does not exist: ",
        "Error: sch_suimon: filters of tc lead to the class: delete them first.",
        "deleted",
        "class psp 5:1 parent 5: class metro rate 100000000 ",
        "class psp 5:4 parent 5: class 4 rate 1000000 ",
        "class psp 5:2 parent 5: class ocean rate 200000000 queue fifo packets 500 end ",
        "class psp 5:3 parent 5: class unclassified ",
        "dropped 0",
    ];
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line} is not {expected}\n{said}");
    }
    for sent in [" 5:21=3 ", " 5:2=2 "] {
        assert!(lines[0].contains(sent), "{said}");
    }
    assert!(!lines[0].starts_with("5:1=0 "), "{said}");
}
