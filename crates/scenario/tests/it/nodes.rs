//! Tables of nodes: their plans, their errors, and their lock files.

use base::Duration;
use network::balancer::{Config, Unit};
use scenario::plan::NodeKind;
use scenario::{Document, Plan};

fn text(balancer: &str) -> String {
    format!(
        "duration = \"1 s\"\n[host.a]\n[host.b]\n[balancer.x]\n{balancer}\n\
         [link.near]\nbetween = [\"a\", \"x\"]\nrate = \"1 Gbit/s\"\n\
         [link.far]\nbetween = [\"x\", \"b\"]\nrate = \"1 Gbit/s\"\n\
         [flow.f]\nfrom = \"a\"\nto = \"b\"\n"
    )
}

fn plan(text: &str) -> Result<Plan, String> {
    let document = Document::parse("x.toml", text).map_err(|e| e.to_string())?;
    document.plan().map_err(|e| e.to_string())
}

fn balancers(plan: &Plan) -> Vec<Config> {
    let of = |kind: &NodeKind| match kind {
        NodeKind::Balancer(config) => Some(*config),
        _ => None,
    };
    plan.nodes.iter().filter_map(|node| of(&node.kind)).collect()
}

#[test]
fn a_balancer_spreads_by_what_its_table_says() {
    let ms = Duration::from_ms(1);
    for (table, by, gap, timer) in [
        ("", Unit::Flow, None, Duration::ZERO),
        ("by = \"flow\"", Unit::Flow, None, Duration::ZERO),
        ("by = \"packet\"", Unit::Packet, None, Duration::ZERO),
        ("by = \"flowlet\"", Unit::Flowlet, Some(Duration::from_us(500)), Duration::ZERO),
        (
            "by = \"flowlet\"\ngap = \"2 ms\"",
            Unit::Flowlet,
            Some(Duration::from_ms(2)),
            Duration::ZERO,
        ),
        ("by = \"packet\"\ntimer = \"1 kHz\"", Unit::Packet, None, ms),
    ] {
        let plan = plan(&text(table)).unwrap();
        assert_eq!(balancers(&plan), [Config { timer, by, gap }], "{table}");
        let locked = self::plan(&scenario::lock(&plan)).unwrap();
        assert_eq!(balancers(&locked), balancers(&plan), "{}", scenario::lock(&plan));
    }
}

#[test]
fn counted_emulators_are_as_many() {
    let text = text("") + "[emulator.wan]\ncount = 2\nrate = \"1 Gbit/s\"\nbuffer = \"1 MB\"\n";
    let plan = plan(&text).unwrap();
    let names: Vec<&str> = plan.nodes[3..].iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["wan.1", "wan.2"]);
    let locked = scenario::lock(&plan);
    assert!(locked.contains("[emulator.wan]\ncount = 2\n"), "{locked}");
    assert_eq!(scenario::lock(&self::plan(&locked).unwrap()), locked);
}

#[test]
fn what_is_wrong_with_a_balancer_is_said() {
    for (table, told) in [
        ("gap = \"1 ms\"", "`gap` without flowlets"),
        ("by = \"packet\"\ngap = \"1 ms\"", "`gap` without flowlets"),
        ("by = \"flowlet\"\ngap = \"1 MB\"", "`MB` is not a unit of time"),
        ("by = \"luck\"", "luck"),
    ] {
        let said = plan(&text(table)).unwrap_err();
        assert!(said.contains(told), "{table}: {said}");
    }
}

#[test]
fn what_is_wrong_with_a_policer_is_said() {
    let text = text("").replace("balancer.x", "policer.x");
    let policed = |more: &str| {
        plan(&text.replace("[policer.x]\n", &format!("[policer.x]\nrate = \"1 Mbit/s\"\n{more}\n")))
    };
    assert!(policed("burst = \"9 kB\"").is_ok());
    let conditioner = "burst = \"9 kB\"\n[link.near.at.x.conditioner]\ndefault = \"drop\"";
    for (more, told) in [
        ("", "`x` lacks `burst`"),
        ("burst = \"0 B\"", "`burst` cannot be 0 B"),
        ("burst = \"9 kB\"\nexceed = \"next y\"", "a policer has a single bucket"),
        (conditioner, "`x` conditions what arrives at its ports itself"),
    ] {
        let said = policed(more).unwrap_err();
        assert!(said.contains(told), "{more}: {said}");
    }
}

#[test]
fn a_policer_writes_no_conditioner_to_the_lock_file() {
    let table = "[policer.x]\nrate = \"1 Mbit/s\"\nburst = \"9 kB\"\n";
    let plan = plan(&text("").replace("[balancer.x]\n", table)).unwrap();
    let locked = scenario::lock(&plan);
    assert!(locked.contains("[policer.x]\n") && !locked.contains("conditioner"), "{locked}");
    assert_eq!(scenario::lock(&self::plan(&locked).unwrap()), locked);
}

#[test]
fn counted_balancers_stay_a_table_in_the_lock_file() {
    let text =
        text("by = \"flowlet\"\ngap = \"1 ms\"") + "[balancer.many]\ncount = 3\nby = \"packet\"\n";
    let plan = plan(&text).unwrap();
    let locked = scenario::lock(&plan);
    assert!(locked.contains("[balancer.many]\ncount = 3\n"), "{locked}");
    assert_eq!(balancers(&self::plan(&locked).unwrap()), balancers(&plan));
}
