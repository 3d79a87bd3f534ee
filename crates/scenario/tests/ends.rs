//! What a link's end has of its own: for all members of a counted host, and for one of them besides.

use scenario::Document;

const TEXT: &str = r#"
duration = "1 s"
[host.a]
count = 2
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.in.at.a]
device_buffer = "16 KiB"
conditioner.default = "mark cs1"
[link.in.at."a.2"]
queue.fifo.packets = 7
"#;

#[test]
fn one_member_keeps_what_all_have() {
    let plan = Document::parse("x.toml", TEXT).and_then(|document| document.plan()).unwrap();
    let [first, second] = [0, 1].map(|link| &plan.links[link].ends[0]);
    assert!(first.conditioner.is_some());
    assert_eq!(first.conditioner, second.conditioner);
    assert_eq!(first.device_buffer, second.device_buffer);
    assert_ne!(first.queue, second.queue);
}
