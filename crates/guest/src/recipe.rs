//! The recipe of the guest kernel: its series, our configuration, our patches, and our congestion control.

use congestion::{Algorithm, HEADERS, PHASES_SOURCE};

/// The kernel series. Debian's package has its newest version.
pub const SERIES: &str = "6.12";
/// Debian's package of the source.
pub const PACKAGE: &str = "linux-source-6.12";
/// The configuration beyond `allnoconfig`.
pub const CONFIG: &str = include_str!("../../../kernel/config");

/// A file's name and text.
type File = (&'static str, &'static str);

/// Names a patch of ours.
macro_rules! patch {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../kernel/patches/", $name)))
    };
}

/// Our patches, in the order in which they are applied.
pub const PATCHES: [File; 13] = [
    patch!("hz.patch"),
    patch!("seed.patch"),
    patch!("syscall-cost.patch"),
    patch!("first-program.patch"),
    patch!("fp-registers.patch"),
    patch!("fp-size.patch"),
    patch!("rings.patch"),
    patch!("option-of-phases.patch"),
    patch!("headroom.patch"),
    patch!("orphans.patch"),
    patch!("run-ahead.patch"),
    patch!("turns.patch"),
    patch!("clock.patch"),
];

/// Our congestion control: names and texts of the C files and headers for `net/ipv4`. A file is named after its
/// algorithm, because the kernel names its parameters after the file: `sui_vegas.alpha`.
pub fn tcp_files() -> impl Iterator<Item = (String, &'static str)> {
    let phases = [("sui_phases.c".to_owned(), PHASES_SOURCE)];
    let sources =
        Algorithm::all().iter().map(|it| (format!("{}.c", it.kernel_name()), it.source()));
    sources.chain(phases).chain(HEADERS.map(|(name, text)| (name.to_owned(), text)))
}

/// The lines that the complete configuration must contain.
pub fn settings() -> impl Iterator<Item = &'static str> {
    let sets = |line: &&str| line.starts_with("CONFIG_") || line.starts_with("# CONFIG_");
    CONFIG.lines().filter(sets)
}

/// The lines to add to `net/ipv4/Makefile`.
pub fn makefile_lines() -> String {
    let names = Algorithm::all().iter().map(|it| it.kernel_name()).chain(["sui_phases"]);
    names.map(|name| format!("obj-y += {name}.o\n")).collect()
}

/// The hash of configuration, patches and files: another recipe gives another kernel.
pub fn hash() -> String {
    let files: Vec<_> = tcp_files().collect();
    let files = files.iter().map(|(name, text)| (name.as_str(), *text));
    let texts = PATCHES.into_iter().chain(files).flat_map(|(name, text)| [name, text]);
    format!("{:016x}", fnv([SERIES, CONFIG].into_iter().chain(texts)))
}

/// The 64-bit FNV-1a hash (Fowler, Noll and Vo). Each text ends with a byte that does not occur in UTF-8.
fn fnv<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = texts.flat_map(|text| text.bytes().chain([0xff]));
    bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_configuration_sets_something_or_says_why() {
        for line in CONFIG.lines().filter(|line| !line.is_empty()) {
            let holds = line.starts_with("# ")
                || line.strip_prefix("CONFIG_").is_some_and(|it| it.contains('='));
            assert!(holds, "{line}");
        }
        let mut names: Vec<_> = settings().map(|line| line.split('=').next()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "something is set twice");
    }

    #[test]
    fn every_patch_begins_with_what_it_is_for() {
        for (name, text) in PATCHES {
            let (why, diff) = text.split_once("\n\n--- a/").expect(name);
            assert!(why.ends_with('.') && !why.contains('\n'), "{name}: {why}");
            assert!(diff.contains("\n+++ b/") && diff.contains("\n@@ "), "{name}");
        }
    }

    /// The headers of the other bindings, which this build does not include.
    const OTHERS: [&str; 2] = ["cc_kernel.h", "cc_native.h"];

    #[test]
    fn every_header_that_a_file_includes_is_there() {
        let names: Vec<String> = tcp_files().map(|(name, _)| name).collect();
        for (name, text) in tcp_files() {
            let included = text.lines().filter_map(|line| line.strip_prefix("#include \""));
            for header in included.filter_map(|rest| rest.strip_suffix('"')) {
                let found = names.iter().any(|it| it == header) || OTHERS.contains(&header);
                assert!(found, "{name} includes {header}");
            }
        }
    }

    #[test]
    fn the_hash_distinguishes_texts_and_their_borders() {
        let of = |texts: &[&'static str]| fnv(texts.iter().copied());
        // FNV-1a of the single byte 0xff.
        assert_eq!(of(&[""]), (0xcbf2_9ce4_8422_2325_u64 ^ 0xff).wrapping_mul(0x0100_0000_01b3));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(hash().len(), 16);
    }
}
