//! Errors in a conditioner give line, column, problem and remedy.

use crate::said::added;

#[test]
fn conditioners() {
    let said = |element: &str| added(&format!("[link.wan.at.r.conditioner.element]\n{element}\n"));
    assert_eq!(
        said("a = { red = \"mark af9\" }"),
        "x.toml:15:13: invalid code point `af9`\n  \
         help: use a name, such as \"ef\", \"af21\" or \"cs6\", or 0 to 63"
    );
    assert_eq!(
        said("a = { red = \"discard\" }"),
        "x.toml:15:13: invalid action `discard`\n  \
         help: use pass, drop, return, \"mark af12\" or \"next NAME\""
    );
    assert_eq!(
        said("a = { green = \"next b\" }\nb = { green = \"next a\" }"),
        "x.toml:15:1: a packet would loop through `a`, `b`\n  \
         help: use pass, drop, mark or return instead of `next` in one of them"
    );
    assert_eq!(
        said("a = { token_bucket = { rate = \"1 Mbit/s\", burst = \"0 B\" } }"),
        "x.toml:15:51: `burst` cannot be 0 B\n  help: give at least 1 B: Bucket depth. It must be at least \
         the longest packet, which otherwise never conforms."
    );
    let bursts = "committed_burst = \"0 B\", excess_burst = \"0 B\"";
    assert_eq!(
        said(&format!("a = {{ single_rate = {{ committed_rate = \"1 Mbit/s\", {bursts} }} }}")),
        "x.toml:15:70: element `a`: a burst of zero lets no packet pass\n  \
         help: give it room for at least one, such as 1500 B"
    );
    let rates = "committed_rate = \"2 Mbit/s\", peak_rate = \"1 Mbit/s\"";
    assert_eq!(
        said(&format!("a = {{ window = {{ {rates}, window = \"1 s\" }} }}")),
        "x.toml:15:59: element `a`: the peak rate 1 Mbit/s is below the committed rate 2 Mbit/s\n  \
         help: raise the one or lower the other"
    );
    assert_eq!(
        said("a = {}\nb = { match = { flow_label = 1, source = \"10.0.0.0/8\" } }"),
        "x.toml:16:1: rule 1: the rule requires both IPv4 and IPv6 (flow labels are IPv6 only)\n  \
         help: split it into two rules"
    );
    let bucket = "token_bucket = { rate = \"1 Mbit/s\", burst = \"9 kB\" }";
    let window =
        "window = { committed_rate = \"1 Mbit/s\", peak_rate = \"2 Mbit/s\", window = \"1 s\" }";
    assert_eq!(
        said(&format!("a = {{ {bucket}, {window} }}")),
        "x.toml:15:1: `a` has more than one meter\n  \
         help: keep one; use `next` to reach another element"
    );
}

/// Elements that no packet can reach would have no effect.
#[test]
fn what_nothing_leads_to_is_refused() {
    let element = "[link.wan.at.r.conditioner.element.police]\n\
                   token_bucket = { rate = \"20 Mbit/s\", burst = \"30 kB\" }\nred = \"drop\"\n";
    let told = added(element);
    assert!(
        told.contains("no packet reaches the element `police`\n  help: add `match = {}` to it for"),
        "{told}"
    );
    assert_eq!(added(&format!("{element}match = {{}}\n")), "nothing");
    let chain = |next: &str| {
        format!("{element}[link.wan.at.r.conditioner.element.first]\nmatch = {{}}\n{next}\n")
    };
    assert_eq!(added(&chain("green = \"next police\"")), "nothing");
    // Without a meter no packet is red.
    let told = added(&chain("red = \"next police\""));
    assert!(told.contains("no packet reaches the element `police`"), "{told}");
    assert!(told.contains("no packet becomes red at the element `first`"), "{told}");
    let by_default = "[link.wan.at.r]\nconditioner.default = \"next police\"\n";
    assert_eq!(added(&format!("{by_default}{element}")), "nothing");

    let classes = |queue: &str| added(&format!("[link.wan.at.r]\nqueue.{queue}\n"));
    let told = classes("drr = { class = { a = {}, b = {} } }");
    assert!(
        told.contains(
            "no packet reaches the class `a`, which has no `match`\n  help: add `match = { flow = \"NAME\" }` \
             to it; all other packets go to `b`"
        ),
        "{told}"
    );
    assert_eq!(classes("drr = { class = { a = { match = {} }, b = {} } }"), "nothing");
    let told = classes("psp = { class = { a = { rate = \"1 Mbit/s\" } } }");
    assert!(told.contains("no packet reaches the class `a`"), "{told}");
    // By 802.1p priority.
    assert_eq!(classes("ets = { class = { a = { priorities = 3 }, b = {} } }"), "nothing");
}
