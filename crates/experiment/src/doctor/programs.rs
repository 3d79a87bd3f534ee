//! Useful programs beside suimon: each is asked for its version.

use std::process::{Command, Stdio};

use lab::machine::{Finding, State};

/// A program, and its Debian package.
const PROGRAMS: [(&str, &str); 6] = [
    ("iperf3", "iperf3"),
    ("curl", "curl"),
    ("tshark", "tshark"),
    ("ethtool", "ethtool"),
    // `suimon cost` counts instructions with it.
    ("valgrind", "valgrind"),
    // Needed to build congestion control for the kernel.
    ("clang", "clang llvm libbpf-dev libelf-dev zlib1g-dev pkg-config"),
];

/// One finding for each program.
pub fn findings() -> Vec<Finding> {
    PROGRAMS.iter().map(|&(program, package)| finding(program, package)).collect()
}

fn finding(program: &'static str, package: &str) -> Finding {
    let (state, why, command) = match version(program) {
        Ok(version) => (State::Ok, version, String::new()),
        Err(why) => (State::Missing, why, format!("sudo apt-get install {package}")),
    };
    Finding { what: program, state, why, command }
}

/// Number of words shown of a program's version line.
const WORDS: usize = 4;

/// The start of the first line of its version output.
fn version(program: &str) -> Result<String, String> {
    let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = asked.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "not installed".to_owned(),
        _ => error.to_string(),
    })?;
    if !output.status.success() {
        return Err(format!("`{program} --version` failed: {}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default();
    Ok(line.split_whitespace().take(WORDS).collect::<Vec<_>>().join(" "))
}
