//! Kernel builds with fake programs: the files they leave, and the messages about what is missing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use testbed::eventually;

use crate::typed::{SUIMON, code, json, stderr, stdout};

/// Programs that are only looked up by name.
const IDLE: [&str; 5] = ["gcc", "flex", "bison", "bc", "xz"];
/// The effects of the programs that a build calls.
const TAR: &str = "printf 'VERSION = 6\\nPATCHLEVEL = 12\\nSUBLEVEL = 99\\n' >tree/Makefile
    mkdir -p tree/net/ipv4 && echo obj-y := tcp.o >tree/net/ipv4/Makefile
    mkdir -p tree/scripts tree/include/linux tree/include/drm tree/arch/um tree/arch/x86/um tree/arch/x86/include
    touch tree/arch/x86/Makefile.um tree/include/linux/a.h";
const MAKE: &str = "for word; do case $word in O=*) objects=${word#O=};; esac; done
    case $* in
    *allnoconfig) cp \"$KCONFIG_ALLCONFIG\" \"$objects/.config\";;
    *) echo '  CC      init/main.o'; echo '#!/bin/sh' >\"$objects/linux\"; chmod +x \"$objects/linux\"
        cd \"$objects\"; mkdir -p scripts include/config arch/um arch/x86/include
        touch Module.symvers include/config/auto.conf;;
    esac";

/// A machine with such programs, and a new cache.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(machine.path("bin")).expect("a folder");
        fs::write(machine.path("linux.tar.xz"), "").expect("a file");
        IDLE.iter().for_each(|name| machine.program(name, ":"));
        machine.program("patch", "cat >/dev/null");
        machine.program("strip", "test -f \"$1\"");
        machine.program(
            "tar",
            &format!("while test \"$1\" != --directory; do shift; done\ncd \"$2/..\"\n{TAR}"),
        );
        machine.program("make", MAKE);
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        let text = format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n");
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("rights");
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(SUIMON);
        command.arg("linux").args(words).current_dir(&self.folder);
        command.env("PATH", self.path("bin")).env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    fn build(&self, words: &[&str]) -> Output {
        let mut command = self.command(&["build", "--source", "linux.tar.xz"]);
        command.args(words).output().expect("it starts")
    }

    fn status(&self) -> Output {
        self.command(&["status", "--json"]).output().expect("it starts")
    }

    /// The contents of the kernels' folder, without its lock.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("cache/suimon/linux")).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name != "lock").collect();
        names.sort();
        names
    }
}

#[test]
fn a_build_leaves_program_and_configuration_and_is_made_once() {
    let machine = Machine::new();
    let status = machine.status();
    assert_eq!((code(&status), json(&status)["built"].as_bool()), (3, Some(false)));

    let built = machine.build(&[]);
    assert_eq!(code(&built), 0, "{}", stderr(&built));
    let path = stdout(&built).trim();
    let name = Path::new(path).file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(name.starts_with("linux-6.12.99-"), "{name}");
    let kept = [name.to_owned(), format!("{name}.config"), format!("{name}.headers")];
    assert_eq!(machine.left(), kept);
    let headers = Path::new(&format!("{path}.headers")).to_owned();
    for file in [".config", "Module.symvers", "include/linux/a.h", "include/config/auto.conf"] {
        assert!(headers.join(file).is_file(), "{file}");
    }
    assert!(!headers.join("include/drm").exists());
    let makefile = fs::read_to_string(headers.join("Makefile")).expect("a file");
    assert!(makefile.starts_with("ARCH := um\nVERSION = 6\n"), "{makefile}");
    assert!(stderr(&built).contains("compiling Linux 6.12.99"), "{}", stderr(&built));

    let status = machine.status();
    let document = json(&status);
    assert_eq!((code(&status), document["path"].as_str()), (0, Some(path)));
    assert_eq!(document["version"], "6.12.99");
    assert!(document["command"].is_null());

    machine.program("make", "exit 1");
    let again = machine.build(&[]);
    assert_eq!((code(&again), stdout(&again).trim()), (0, path));
    assert!(stderr(&again).contains("already built"), "{}", stderr(&again));
    assert_eq!(code(&machine.build(&["--rebuild"])), 3);
    assert_eq!(code(&machine.status()), 0, "a build that fails leaves the one before");
}

#[test]
fn a_build_that_fails_says_why_and_leaves_nothing() {
    let machine = Machine::new();
    machine.program("make", "echo 'init/main.c: error: no such thing' >&2; exit 2");
    let output = machine.build(&["--quiet"]);
    assert_eq!((code(&output), stdout(&output)), (3, ""));
    assert!(stderr(&output).contains("error: no such thing"), "{}", stderr(&output));
    assert!(machine.left().is_empty(), "{:?}", machine.left());
    assert_eq!(code(&machine.status()), 3);

    machine.program("make", &format!("{MAKE}\nsed -i /CONFIG_TCP_CONG_BBR/d \"$objects/.config\""));
    let output = machine.build(&["--quiet"]);
    let text = stderr(&output);
    assert!(text.contains("does not support: CONFIG_TCP_CONG_BBR=y\n"), "{text}");

    machine.program(
        "tar",
        &format!(
            "while test \"$1\" != --directory; do shift; done\ncd \"$2/..\"\n{}",
            TAR.replace("12", "19")
        ),
    );
    let output = machine.build(&["--quiet"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("is Linux 6.19, not 6.12"), "{}", stderr(&output));
}

#[test]
fn an_interrupted_build_leaves_nothing_that_runs_or_lies() {
    let machine = Machine::new();
    // A minute is longer than the test waits.
    machine.program(
        "make",
        &format!("{MAKE}\ncase $* in *modules) echo $$ >\"$XDG_CACHE_HOME/pid\"; sleep 60;; esac"),
    );
    let mut build = machine.command(&["build", "--source", "linux.tar.xz"]);
    let build = build.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let pid = || fs::read_to_string(machine.path("cache/pid")).unwrap_or_default();
    eventually("make runs", || pid().ends_with('\n'));
    let second = machine.build(&[]);
    assert_eq!(code(&second), 3);
    assert!(stderr(&second).contains("another build is in progress"), "{}", stderr(&second));

    kill(Pid::from_raw(i32::try_from(build.id()).expect("an id")), Signal::SIGTERM)
        .expect("a signal");
    let output = build.wait_with_output().expect("it ends");
    assert_eq!((code(&output), stdout(&output)), (130, ""));
    assert!(stderr(&output).contains("the build was removed"), "{}", stderr(&output));
    assert!(machine.left().is_empty(), "{:?}", machine.left());
    assert!(!Path::new("/proc").join(pid().trim()).exists(), "make still runs");
}

#[test]
fn what_a_killed_build_left_goes_with_the_next() {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("cache/suimon/linux/build-Zz/tree")).expect("a folder");
    assert_eq!(code(&machine.build(&[])), 0);
    assert_eq!(machine.left().len(), 3, "{:?}", machine.left());
}

#[test]
fn what_is_missing_is_said_before_anything_is_done() {
    let machine = Machine::new();
    for name in ["flex", "gcc"] {
        fs::remove_file(machine.path("bin").join(name)).expect("it was there");
    }
    let output = machine.build(&[]);
    assert_eq!((code(&output), stdout(&output)), (3, ""));
    let text = stderr(&output);
    assert!(text.contains("lacks gcc, flex"), "{text}");
    assert!(text.contains("help: sudo apt-get install gcc libc6-dev flex\n"), "{text}");
    assert!(!machine.path("cache").exists());
    let document = json(&machine.status());
    let command = document["command"].as_str().expect("a command");
    assert!(command.starts_with("sudo apt-get install gcc libc6-dev flex"), "{command}");
}

#[test]
fn a_cache_that_cannot_be_written_or_is_not_named_is_reported() {
    let machine = Machine::new();
    let output = machine
        .command(&["build", "--source", "linux.tar.xz"])
        .env("XDG_CACHE_HOME", "/proc")
        .output();
    let output = output.expect("it starts");
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("export XDG_CACHE_HOME="), "{}", stderr(&output));

    let output =
        machine.command(&["status"]).env_remove("XDG_CACHE_HOME").env_remove("HOME").output();
    let output = output.expect("it starts");
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("export XDG_CACHE_HOME="), "{}", stderr(&output));
}
