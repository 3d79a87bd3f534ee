//! Errors in a file give line, column, problem and remedy: nodes, links, queues, and the text itself.

use crate::said::{GOOD, added, said};
use scenario::Document;
use scenario::plan::NodeKind;

#[test]
fn the_file_without_a_mistake_is_fine() {
    assert_eq!(added(""), "nothing");
}

#[test]
fn quantities() {
    assert_eq!(
        said("\"1 Gbit/s\"", "\"1000\"", ""),
        "x.toml:7:8: the rate `1000` has no unit\n  help: write \"1000 Mbit/s\" or \"1000 MB/s\""
    );
    assert_eq!(
        said("\"1 Gbit/s\"", "1000", ""),
        "x.toml:7:8: the rate `1000` has no unit\n  help: write \"1000 Mbit/s\" or \"1000 MB/s\""
    );
    assert_eq!(
        said("\"1 Gbit/s\"", "\"0 Gbit/s\"", ""),
        "x.toml:7:8: a rate of zero\n  help: a rate is at least 1 bit/s, such as \"500 Mbit/s\""
    );
    assert_eq!(
        said("\"1 Gbit/s\"", "\"99999999999 Gbit/s\"", ""),
        "x.toml:7:8: `99999999999 Gbit/s` does not fit 64 bits\n  \
         help: the fastest rate is 18 Ebit/s"
    );
    assert_eq!(
        said("\"1 Gbit/s\"", "nan", ""),
        "x.toml:7:8: `NaN` is not a rate\n  \
         help: write a rate as a number and a unit, such as \"500 Mbit/s\""
    );
    assert_eq!(
        said("\"1 Gbit/s\"", "\"-1 Gbit/s\"", ""),
        "x.toml:7:8: a rate below zero\n  \
         help: write a rate as a number and a unit, such as \"500 Mbit/s\""
    );
    assert_eq!(
        said("\"1 Gbit/s\"", "\"1 GB\"", ""),
        "x.toml:7:8: `GB` is not a unit of rate\n  help: a rate is per second: \"1 GB/s\""
    );
    assert_eq!(
        said("\"10 s\"", "\"10 parsecs\"", ""),
        "x.toml:1:12: `parsecs` is not a unit of time\n  help: use ps, ns, us, ms, s, min or h"
    );
}

#[test]
fn names() {
    assert_eq!(
        said("to = \"receiver\"", "to = \"reciever\"", ""),
        "x.toml:13:6: there is no node `reciever`\n  help: did you mean `receiver`?"
    );
    assert_eq!(
        said("to = \"receiver\"", "to = \"r\"", ""),
        "x.toml:13:6: `r` is not a host\n  help: connections begin and end at a [host.NAME]"
    );
    assert_eq!(
        added("congestion = \"scaleable\"\n"),
        "x.toml:14:14: there is no congestion control algorithm `scaleable`\n  \
         help: did you mean `scalable`?"
    );
    assert_eq!(
        said("[host.sender]\n", "[host.sender]\nprofile = \"linux-6.1\"\n", ""),
        "x.toml:3:11: there is no profile `linux-6.1`\n  help: did you mean `linux-6`?"
    );
    assert_eq!(
        added("[link.wan.queue.psq]\nrate = \"1 Mbit/s\"\n"),
        "x.toml:14:17: `queue` has no key `psq`\n  help: did you mean `psp`?"
    );
    assert_eq!(
        added("[probe.capture.c]\nat = \"sender:wan\"\n"),
        "x.toml:15:6: `sender` is not an end of `wan`\n  help: its links are `access`"
    );
    assert_eq!(
        added("tcp.recovery.detection = \"rak\"\n"),
        "x.toml:14:26: `detection` has no choice `rak`\n  help: did you mean `rack`?"
    );
}

/// These are mistaken units: a run would not end, or no machine has such rates.
#[test]
fn absurd_rates_and_intervals_are_refused() {
    assert_eq!(
        said("\"1 Gbit/s\"", "\"99999999 Gbit/s\"", ""),
        "x.toml:7:8: `rate` cannot be 99999999 Gbit/s\n  \
         help: give at most 100000 Gbit/s: Line rate; required unless there is a `trace`."
    );
    assert_eq!(
        added("train = { message = \"1 kB\", every = \"0.0000001 ms\" }\n"),
        "x.toml:14:37: `every` cannot be 0.0000001 ms\n  \
         help: give at least 100 ns: Time between the starts of two messages."
    );
    assert_eq!(said("\"1 Gbit/s\"", "\"100 Tbit/s\"", ""), "nothing");
    assert_eq!(added("train = { message = \"1 kB\", every = \"100 ns\" }\n"), "nothing");
}

#[test]
fn names_of_linux_stand_for_ours() {
    let queue = "[link.wan.queue.tbf]\nrate = \"1 Mbit/s\"\nbucket = \"3 kB\"\n";
    assert_eq!(added(&format!("congestion = \"reno\"\n{queue}")), "nothing");
    let mut document = Document::parse("x.toml", &format!("{GOOD}{queue}")).unwrap();
    document.set("link.wan.queue.tbf.rate=2e3 kbit/s").unwrap();
    document.set("link.access.queue={ tbf = { rate = \"1 Mbit/s\", bucket = \"3 kB\" } }").unwrap();
    let plan = document.plan().unwrap_or_else(|errors| panic!("{errors}"));
    let locked = scenario::lock(&plan);
    assert!(locked.contains(".queue.tbr]\nrate = \"2 Mbit/s\""), "{locked}");
    assert_eq!(locked.matches(".queue.tbr]").count(), 4, "{locked}");
}

#[test]
fn what_is_quoted_of_a_long_text_is_cut() {
    let told = said("\"1 Gbit/s\"", &format!("\"{}\"", "x".repeat(2_000_000)), "");
    assert!(told.len() < 1_000, "{} bytes", told.len());
    assert!(told.contains(" … ") && told.contains("is not a rate"), "{told}");
}

#[test]
fn a_guess_that_would_mislead_is_not_made() {
    let told = added("[probe.trace]\nat = \"sender:access\"\n");
    assert!(told.contains("available: `automatic`, ") && told.contains("`capture`"), "{told}");
    let told = added("[link.wan.queue.sfq]\n");
    assert!(told.contains("available: ") && told.contains("`fq_codel`"), "{told}");
}

#[test]
fn coalescing_is_refused_beside_a_processor() {
    let both = "[host.sender]\nprocessor.machine = \"ideal\"\ncoalesce.delay = \"25 us\"\n";
    let told = said("[host.sender]\n", both, "");
    assert!(told.contains("`coalesce` and `processor` are mutually exclusive"), "{told}");
    let told = said("[host.sender]\n", "[host.sender]\ncoalesce.frames = 8\n", "");
    assert!(told.contains("`delay`"), "{told}");
}

#[test]
fn a_processor_is_that_of_the_machine_that_is_named() {
    let backlog = |host: &str| {
        let text = GOOD.replacen("[host.sender]\n", &format!("[host.sender]\n{host}"), 1);
        let plan = Document::parse("x.toml", &text).and_then(|document| document.plan()).unwrap();
        let NodeKind::Host(config) = &plan.nodes[0].kind else { panic!("{plan:?}") };
        config.processor.map(|processor| processor.backlog)
    };
    assert_eq!(backlog("profile = \"linux-2.4-web100\"\n"), None, "a TCP stack is no machine");
    assert_eq!(backlog("processor.machine = \"pentium-4-linux-2.4\"\n"), Some(300));
    assert_eq!(backlog("processor.machine = \"ideal\"\n"), None);
    let both = "processor = { machine = \"pentium-4-linux-2.4\", backlog = 7 }\n";
    assert_eq!(backlog(both), Some(7));
    assert_eq!(
        said("[host.sender]\n", "[host.sender]\nprocessor.machine = \"pentium-4\"\n", ""),
        "x.toml:3:21: there is no machine `pentium-4`\n  help: did you mean `pentium-4-e1000`?"
    );
    assert_eq!(
        said("[host.sender]\n", "[host.sender]\nprocessor.backlog = 0\n", ""),
        "x.toml:3:21: `backlog` cannot be 0\n  help: give 1 to 4294967295: Maximum number of waiting \
         segments, 300 to 1000 in Linux (netdev_max_backlog). Further segments are dropped."
    );
}

#[test]
fn a_machine_may_be_a_file() {
    let named = "[host.sender]\nprocessor = { machine = \"file:m.toml\", backlog = 7 }\n";
    let text = GOOD.replacen("[host.sender]\n", named, 1);
    let read = |file: Option<&str>| {
        let mut document = Document::parse("x.toml", &text).expect("a scenario");
        assert!(document.files().contains("m.toml"));
        file.into_iter().for_each(|file| document.supply("m.toml".into(), file.into()));
        document.plan().map_err(|errors| errors.to_string())
    };
    let plan = read(Some("# a machine\nwakeup = \"3 us\"\nbacklog = 9\n")).expect("a plan");
    let NodeKind::Host(config) = &plan.nodes[0].kind else { panic!("{plan:?}") };
    let processor = config.processor.expect("one");
    assert_eq!((processor.wakeup, processor.backlog), (base::Duration::from_us(3), 7));
    assert_eq!(
        read(Some("# a machine\nwake = \"3 us\"\n")).expect_err("no setting"),
        "x.toml:3:25: m.toml:2:1: there is no setting `wake`\n  help: did you mean `wakeup`?"
    );
    let unread = read(None).expect_err("no file");
    assert!(
        unread.starts_with(
            "x.toml:3:25: cannot load the file `m.toml`: its contents were not provided"
        ),
        "{unread}"
    );
}

#[test]
fn shapes() {
    assert_eq!(
        said("rate = \"1 Gbit/s\"", "raet = \"1 Gbit/s\"", ""),
        "x.toml:7:1: `access` has no key `raet`\n  help: did you mean `rate`?"
    );
    assert_eq!(
        said("[\"sender\", \"r\"]", "[\"sender\"]", ""),
        "x.toml:6:11: `between` has 1 entry\n  help: give exactly 2"
    );
    assert_eq!(
        added("[link.wan.queue]\nfifo.packets = 10\npsp.rate = \"1 Mbit/s\"\n"),
        "x.toml:16:1: `queue` is already `fifo`\n  help: keep one of them"
    );
    assert_eq!(
        added("read = \"1 MB/s\"\n"),
        "x.toml:14:8: `read` must be a table\n  help: write `{ key = value }`, or use a separate [header]"
    );
    let duplicate = added("[host.sender]\n");
    assert!(duplicate.starts_with("x.toml:14:7: duplicate key"), "{duplicate}");
    assert_eq!(
        added("[router.sender]\n"),
        "x.toml:14:9: there are two nodes named `sender`\n  help: give each a different name"
    );
}

#[test]
fn values_of_another_kind() {
    let told = |line: &str| said("to = \"receiver\"", &format!("to = \"receiver\"\n{line}"), "");
    let number = "expected a whole number, 0 or above, found";
    for (line, part) in [
        ("count = \"2\"", format!("{number} string \"2\"\n  help: write digits")),
        ("count = -3", format!("{number} integer `-3`\n  help: write digits")),
        (
            "congestion = 5",
            "expected an algorithm, found integer `5`\n  help: put its name in quotes".into(),
        ),
    ] {
        assert!(told(line).contains(&part), "{}", told(line));
    }
}

#[test]
fn text_that_is_no_toml() {
    let ends = |from: &str, to: &str| {
        let said = said(from, to, "");
        said.lines().last().unwrap_or_default().trim().to_owned()
    };
    assert_eq!(ends("\"10 s\"", "10 s"), "help: put it in quotes, as in \"10 s\"");
    assert_eq!(
        ends("[router.r]", "[host.sender]"),
        "help: a key may occur once in its table: merge both parts, or rename one"
    );
    assert!(said("\"10 s\"", "\"10 s", "").contains("help: close the text with a `\"`"));
    assert_eq!(
        ends("[host.sender]", "host = { sender = {} }"),
        "help: an inline table cannot be extended: write this inside its `}`, or use a [header]"
    );
}

#[test]
fn networks() {
    assert_eq!(
        said("[link.wan]\nbetween = [\"r\", \"receiver\"]\nrate = \"100 Mbit/s\"\n", "", ""),
        "x.toml:10:6: there is no path from `sender` to `receiver`\n  help: connect them by [link.NAME] tables, \
         through routers, switches or emulators: hosts do not forward"
    );
    assert_eq!(
        said("[\"sender\", \"r\"]", "[\"r\", \"r\"]", ""),
        "x.toml:6:17: `access` links `r` to itself\n  help: a link joins two different nodes"
    );
    assert_eq!(
        said(
            "[host.sender]",
            "[host.sender]\ncount = 3\n[host.more]\ncount = 4\n[link.pair]\n\
             between = [\"sender\", \"more\"]\nrate = \"1 Gbit/s\"",
            ""
        ),
        "x.toml:7:22: `sender` has 3 members, but `more` has 4\n  help: counted ends pair by number: use equal \
         counts, or one end without a count"
    );
    assert_eq!(
        added("[host.s]\ncount = 1_000_000_000_000\n"),
        "x.toml:14:7: `s` raises the number of nodes to 1000000000003\n  help: reduce them to at most 262144"
    );
}

/// A value out of range is reported at its key, with the range and the setting's purpose, for any kind of
/// setting.
#[test]
fn what_is_out_of_range_is_reported_at_its_key() {
    let queue = |queue: &str| added(&format!("[link.wan.at.r]\nqueue.{queue}\n"));
    let told = queue("priq = { class = { a = { priority = 16 } } }");
    assert_eq!(
        told,
        "x.toml:15:43: `priority` cannot be 16\n  help: give 0 to 15: Priority of the class, the highest \
         first; each class has a different one. 1 unless given, as in ALTQ."
    );
    let told = queue("wfq = { bytes = \"1 TiB\", quota = \"63 B\" }");
    assert!(
        told.contains("15:23: `bytes` cannot be 1 TiB\n  help: give at most 256 GiB: "),
        "{told}"
    );
    assert!(told.contains("15:40: `quota` cannot be 63 B\n  help: give at least 64 B: "), "{told}");
    let told = queue("pie = { target = \"2 h\" }");
    assert!(told.contains("give more than 0 s, at most 3600 s: Target queueing delay"), "{told}");
    let told = queue("drr = { class = { a = { queue.red.weight = \"0.001 %\" } } }");
    assert!(
        told.contains("15:50: `weight` cannot be 0.001 %\n  help: give at least 0.0015"),
        "{told}"
    );
    let told = queue("jobs = { class = { a = { relative_delay = 99_999_999_999 } } }");
    assert!(told.contains("`relative_delay` cannot be 99999999999"), "{told}");
    let told = added("tcp.segment.mtu = \"300 B\"\nreceiver_tcp.ack.every = 0\n");
    assert!(
        told.starts_with("x.toml:14:19: `mtu` cannot be 300 B\n  help: give 576 B to 65535 B: "),
        "{told}"
    );
    assert!(told.contains("15:26: `every` cannot be 0\n  help: give 1 to 4294967295: "), "{told}");
    let told = added("tcp.window = { initial = 20, clamp = 10 }\n");
    assert!(
        told.starts_with("x.toml:14:26: its TCP: initial window 20 packets, clamp 10\n"),
        "{told}"
    );
    let told = added("tcp.buffers.send = { initial = \"2 MB\", max = \"1 MB\" }\n");
    assert!(told.starts_with("x.toml:14:46: `max` is below `initial`\n"), "{told}");
    let told = added("[link.wan.down]\nat = \"1 s\"\nlasts = \"0 s\"\n");
    assert!(
        told.starts_with("x.toml:16:9: `lasts` cannot be 0 s\n  help: give more than 0 s: "),
        "{told}"
    );
    let told = added("[link.wan.reorder]\nshare = \"1 %\"\nby = \"0 s\"\n");
    assert!(
        told.starts_with("x.toml:16:6: `by` cannot be 0 s\n  help: give more than 0 s: "),
        "{told}"
    );
}

#[test]
fn queues_and_times() {
    assert_eq!(
        added("[link.wan.queue.fifo]\nbytes = \"0 B\"\n"),
        "x.toml:15:9: a queue of zero drops every packet\n  help: give it room for at least one (1518 \
         bytes)"
    );
    let above = added("[link.access.at.sender.queue.psp]\nrate = \"2 Gbit/s\"\n");
    assert!(above.starts_with("x.toml:15:8: class `all` has 2 Gbit/s, but "), "{above}");
    let promise = added(
        "[link.access.at.sender.queue.psp.class]\nup = { rate = \"90 MB/s\" }\n\
         a = { rate = \"50 MB/s\", parent = \"up\" }\nb = { rate = \"50 MB/s\", parent = \"up\" }\n",
    );
    assert!(promise.starts_with("x.toml:15:15: the classes `a`, `b` have "), "{promise}");
    assert_eq!(
        added("start = \"5 s\"\nstop = \"2 s\"\n"),
        "x.toml:15:8: the flow stops before it starts\n  \
         help: set `stop` above `start`; both count from the start of the run"
    );
    assert_eq!(
        added("[probe.capture.c]\nat = \"sender:access\"\nfrom = \"9 s\"\nuntil = \"8 s\"\n"),
        "x.toml:17:9: the interval is empty\n  help: set `from` before `until` and before the end of the run"
    );
    assert_eq!(
        added("[sweep]\ntitle = [\"a\", \"b\"]\n"),
        "x.toml:15:1: `title` cannot be set or swept\n  help: name a setting, such as \
         emulator.gnet.buffer, flow.bulk.congestion or seed"
    );
}

#[test]
fn several_at_once_in_the_order_of_the_file() {
    let text = said("\"1 Gbit/s\"", "\"1\"", "congestion = \"cubik\"\nstart = \"11 s\"\n");
    let places: Vec<&str> = text.lines().filter(|line| line.starts_with("x.toml")).collect();
    assert_eq!(places.len(), 3, "{text}");
    assert!(places[0].starts_with("x.toml:7:8: "), "{text}");
    assert!(places[1].starts_with("x.toml:14:14: "), "{text}");
    assert!(places[2].starts_with("x.toml:15:9: "), "{text}");
}

#[test]
fn headers() {
    assert_eq!(
        said("[host.sender]", "[host.sender]\naddress = \"10.0.1\"", ""),
        "x.toml:3:11: invalid address `10.0.1`\n  \
         help: write IPv4 or IPv6: \"10.1.0.1\", \"2001:db8::1\""
    );
    assert_eq!(
        said("[host.sender]", "[host.sender]\naddress = \"::1\"", ""),
        "x.toml:14:6: ::1 and 10.0.0.2 have different IP versions\n  \
         help: use addresses of the same IP version for both hosts"
    );
    assert_eq!(
        said("[host.receiver]", "[host.receiver]\naddress = \"10.0.0.1\"", ""),
        "x.toml:4:11: `sender` already has the address 10.0.0.1\n  \
         help: give every host a different address"
    );
    // The receiver is the second node, so it gets 10.0.0.2 by default.
    assert_eq!(
        said("[host.sender]", "[host.sender]\naddress = \"10.0.0.2\"", ""),
        "x.toml:3:11: `receiver` already has the address 10.0.0.2\n  \
         help: give every host a different address"
    );
    assert_eq!(
        added("[host.many]\ncount = 3\naddress = \"10.1\"\n"),
        "x.toml:16:11: invalid address `10.1`\n  \
         help: write IPv4 or IPv6: \"10.1.0.1\", \"2001:db8::1\""
    );
    assert_eq!(
        added("[host.many]\ncount = 3\naddress = \"255.255.255.254\"\n"),
        "x.toml:16:11: there are not enough addresses\n  \
         help: use a lower first address: each host has the address after the previous one"
    );
    assert_eq!(
        added("source_port = 65535\ncount = 2\ndscp = \"af4\"\n"),
        "x.toml:16:8: invalid code point `af4`\n  \
         help: use a name, such as \"ef\", \"af21\" or \"cs6\", or 0 to 63"
    );
    assert_eq!(
        added("source_port = 65535\ncount = 2\n"),
        "x.toml:14:15: there is no port after 65535\n  \
         help: use a lower first port: each connection has the port after the previous one"
    );
    assert_eq!(
        added("[link.wan.at.r.queue.priq.class.a]\nmatch = { source_port = \"90-80\" }\n"),
        "x.toml:15:25: invalid port range `90-80`\n  help: write the lower port first: \"80-90\""
    );
    assert_eq!(
        added(
            "[link.wan.at.r.queue.priq.class.a]\nmatch = { flow_label = 1, source = \"10.0.0.0/8\" }\n"
        ),
        "x.toml:14:33: in filter 1 the rule requires both IPv4 and IPv6 (flow labels are IPv6 only)\n  \
         help: split it into two rules"
    );
}

#[test]
fn what_is_faulty_is_not_called_missing() {
    let told = said(
        "to = \"receiver\"",
        "to = \"receiver\"\ncount = 0",
        "[expect.flow.bulk]\ndrops.max = 0\n[compare.flow.\"bulk.1\"]\ndrops = 1\n",
    );
    assert!(told.contains("a count of zero") && !told.contains("no flow"), "{told}");
    let told =
        said("rate = \"1 Gbit/s\"", "rate = \"fast\"", "[expect.link.access]\ndrops.max = 0\n");
    assert!(!told.contains("no link"), "{told}");
}

#[test]
fn names_of_hosts() {
    let named = |name: &str| {
        let text = GOOD.replace("host.sender", &format!("host.{name}"));
        let text = text.replace("\"sender\"", &format!("\"{name}\""));
        let plan = Document::parse("x.toml", &text).and_then(|document| document.plan());
        plan.map(|_| "nothing".into()).unwrap_or_else(|errors| errors.to_string())
    };
    assert_eq!(named("web-1"), "nothing");
    assert_eq!(
        named("1"),
        "x.toml:2:7: the host `1` does not start with a letter\n  \
         help: start the host's name with a letter"
    );
    assert_eq!(
        named("localhost"),
        "x.toml:2:7: the host `localhost` has a reserved name\n  \
         help: give it another name"
    );
    assert_eq!(
        named("Receiver"),
        "x.toml:3:7: the host `receiver` differs from `Receiver` only in case\n  \
         help: give each host a different name"
    );
}

/// A discipline reports its error at the given setting, otherwise at the class, otherwise at itself.
#[test]
fn a_disciplines_complaint_points_to_what_it_is_about() {
    let mut wrong = Vec::new();
    for (queue, place) in [
        ("red = { threshold_max = 5, threshold_min = 9 }", "9 }"),
        ("rio = { threshold_min_medium = 90, threshold_max_medium = 80 }", "90"),
        ("codel = { interval = \"5 ms\", target = \"7 ms\" }", "\"7 ms\""),
        ("fq_codel = { flows = 0 }", "0 }"),
        ("pie = { beta = 0 }", "0 }"),
        ("blue = { freeze_time = \"0 s\" }", "\"0 s\""),
        ("tbr = { bucket = \"3 kB\", rate = \"90 Gbit/s\" }", "\"90 Gbit/s\""),
        ("wfq = { class = { a = { weight = 3 } } }", "3 }"),
        ("wfq = { quota = \"1 B\" }", "\"1 B\""),
        ("drr = { class = { a = {}, b = { weight = 0 } } }", "0 }"),
        ("drr = { default_class = \"c\", class = { a = {} } }", "\"c\""),
        ("drr = { class = { a = {}, b = { parent = \"a\" } } }", "\"a\""),
        ("drr = { class = { a = { queue.fifo.packets = 0 } } }", "0 } } }"),
        ("ets = { class = { a = {}, b = { percent = 0 } } }", "0 }"),
        ("priq = { class = { a = { priority = 1 }, b = { priority = 1 } } }", "1 } } }"),
        ("priq = { class = { a = { priority = 99 } } }", "99"),
        ("fairq = { class = { a = { buckets = 0 } } }", "0 }"),
        ("cbq = { default = \"a\", class = { a = { rate = \"1 Mbit/s\", priority = 9 } } }", "9 }"),
        ("cbq = { default = \"x\", class = { a = { rate = \"1 Mbit/s\" } } }", "\"x\""),
        (
            "cbq = { default = \"b\", class = { a = { rate = \"3 Mbit/s\" }, b = { parent = \"a\", \
             rate = \"2 Mbit/s\" }, c = { parent = \"a\", rate = \"2 Mbit/s\" } } }",
            "\"3 Mbit/s\"",
        ),
        (
            "hfsc = { default_class = \"a\", class = { a = { real_time_m1 = \"1 Mbit/s\", real_time_d = \"5 ms\", \
             real_time_m2 = \"2 Mbit/s\" } } }",
            "\"1 Mbit/s\"",
        ),
        (
            "hfsc = { default_class = \"a\", class = { a = { real_time_m2 = \"2 Mbit/s\", upper_limit_m2 = \"1 Mbit/s\", \
             link_share_m2 = \"1 Mbit/s\" } } }",
            "\"1 Mbit/s\", link_share_m2",
        ),
        ("hfsc = { default_class = \"a\", class = { a = {} } }", "a = {}"),
        ("jobs = { class = { a = { relative_loss = 3, delay = \"5 ms\" }, b = {} } }", "3, delay"),
        ("psp = { class = { a = { rate = \"90 Gbit/s\" } } }", "\"90 Gbit/s\""),
    ] {
        let added = format!("[link.wan.at.r]\nqueue.{queue}\n");
        let text = format!("{GOOD}{added}");
        let errors = Document::parse("x.toml", &text).and_then(|document| document.plan());
        let errors = errors.expect_err(queue).to_string();
        let mut parts = errors.splitn(4, ':').skip(1).map(str::parse::<usize>);
        let (line, column) = (parts.next().unwrap().unwrap(), parts.next().unwrap().unwrap());
        let line = text.lines().nth(line - 1).unwrap();
        let at: String = line.chars().skip(column - 1).collect();
        if !at.starts_with(place) {
            wrong.push(format!("{queue}\n{errors}\npoints to {at}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
