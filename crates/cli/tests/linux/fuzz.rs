//! Drawn frames through every discipline of the module, while devices and qdiscs are changed, renamed and removed.

use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::lacks_programs;

use crate::module::write_transcripts;
use crate::modules::modules;

/// Frames of the test; `make module-debug` sends ten million to a kernel with checks on.
const FRAMES: u64 = 200_000;

/// The number in the line that begins with `name`.
fn figure(said: &str, name: &str) -> u64 {
    let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|rest| rest.parse().ok()).unwrap_or_else(|| panic!("no {name}:\n{said}"))
}

/// Every kind of frame goes through every discipline; no packet and no memory is left, and the kernel's log says nothing.
#[test]
fn drawn_frames_leave_nothing_behind() {
    let test = "drawn frames in the module";
    let Some(kernel) = crate::kernel(test, &["setarch"]) else { return };
    let Some(modules) = modules(test) else { return };
    if lacks_programs(test, &["bash", "python3"]) {
        return;
    }
    let transcripts = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drawn-frames");
    let _ = fs::remove_dir_all(&transcripts);
    write_transcripts(&transcripts, Some(40));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/module/fuzz");
    let mut fuzz = Command::new(script);
    fuzz.arg(kernel).args([&modules, &transcripts]).args([FRAMES.to_string(), "1".to_owned()]);
    let output = fuzz.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let _ = fs::remove_dir_all(&transcripts);

    for entry in traffic::qdisc::REGISTRY {
        assert!(said.contains(&format!("\n{} sent ", entry.name)), "{}:\n{said}", entry.name);
    }
    assert!(figure(&said, "sent") > FRAMES - 100, "{said}");
    assert!(figure(&said, "received") > FRAMES / 2 && figure(&said, "renewals") > 10, "{said}");
    assert_eq!(figure(&said, "memory_blocks"), 0, "{said}");
    for kind in [
        "empty",
        "above_9018_bytes",
        "linear",
        "fragments",
        "fragment_list",
        "headers_in_fragments",
        "ipv4_options",
        "ipv6_extensions",
        "not_ip",
        "one_tag_in_frame",
        "two_tags_in_frame",
        "tag_beside_frame",
        "cut_short",
        "mutated",
        "wrong_offsets",
        "cloned",
        "shared",
        "gso_tcp4",
        "gso_tcp6",
        "gso_udp",
        "gso_wrong_size",
        "gso_list",
    ] {
        assert!(figure(&said, kind) > 500, "{kind}:\n{said}");
    }
}
