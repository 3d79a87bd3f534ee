//! Tables of nodes: what they make of a plan, what is wrong with them, and that the lock file says the same.

use network::balancer::{Config, Unit};
use scenario::plan::NodeKind;
use scenario::{Document, Plan};
use traffic::Duration;

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
    for (table, by) in [
        ("", Unit::Flow),
        ("by = \"flow\"", Unit::Flow),
        ("by = \"packet\"", Unit::Packet),
        ("by = \"flowlet\"", Unit::Flowlet(Duration::from_us(500))),
        ("by = \"flowlet\"\ngap = \"2 ms\"", Unit::Flowlet(Duration::from_ms(2))),
        ("by = \"packet\"\ntimer = \"1 kHz\"", Unit::Packet),
    ] {
        let plan = plan(&text(table)).unwrap();
        assert_eq!(balancers(&plan), [Config { by }], "{table}");
        let locked = self::plan(&scenario::lock(&plan)).unwrap();
        assert_eq!(balancers(&locked), [Config { by }], "{}", scenario::lock(&plan));
        assert_eq!(locked.nodes[2].timer, plan.nodes[2].timer);
    }
}

#[test]
fn what_is_wrong_with_a_balancer_is_said() {
    for (table, told) in [
        ("gap = \"1 ms\"", "a `gap` where there are no flowlets"),
        ("by = \"packet\"\ngap = \"1 ms\"", "a `gap` where there are no flowlets"),
        ("by = \"flowlet\"\ngap = \"1 MB\"", "`MB` is not a unit of time"),
        ("by = \"luck\"", "luck"),
    ] {
        let said = plan(&text(table)).unwrap_err();
        assert!(said.contains(told), "{table}: {said}");
    }
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
