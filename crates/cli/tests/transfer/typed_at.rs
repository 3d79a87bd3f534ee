//! Command lines, output and exit codes.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use testbed::{eventually, lacks};

use crate::killed::recorded;
use crate::typed::{SUIMON, code, json, stderr, stdout};

/// A code with its right check digit.
pub(crate) const CODE: &str = "00000-00000-00000-00000-0000e";

/// A port without a listener.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port()
}

/// Pseudo-random numbers.
pub(crate) fn xorshift(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

fn suimon(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(SUIMON)
        .args(arguments)
        .current_dir(folder)
        .env("SUIMON_CODE", CODE)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

fn listening(folder: &Path, port: u16, arguments: &[&str]) -> std::process::Child {
    let child = Command::new(SUIMON)
        .args(["recv", "there", "--listen", &format!("127.0.0.1:{port}")])
        .args(arguments)
        .current_dir(folder)
        .env("SUIMON_CODE", CODE)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.expect("the program starts");
    eventually("recv listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    child
}

#[test]
fn a_folder_arrives_and_both_ends_say_so() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("data")).expect("a folder");
    fs::write(folder.path().join("data/a"), vec![7; 8_000_000]).expect("written");
    fs::write(folder.path().join("data/b"), b"small").expect("written");
    let port = free_port();
    let receiver = listening(folder.path(), port, &[]);
    let host = format!("127.0.0.1:{port}");
    let sent = suimon(
        folder.path(),
        &["send", "data", &host, "-P", "2", "--rate", "80mbit", "--chunk", "64KiB"],
    );
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    let said = stdout(&sent);
    assert!(said.contains("2 files at the receiver, 0 already there: 8 MB sent"), "{said}");
    // The path depends on whether the kernel has TLS.
    assert!(said.contains("2 connections, path ") && said.contains(", encrypted"), "{said}");
    assert!(said.contains("limited by the rate"), "{said}");
    let received = receiver.wait_with_output().expect("it ends");
    assert_eq!(code(&received), 0);
    assert!(
        stdout(&received).contains("2 files in there, all chunks verified"),
        "{}",
        stdout(&received)
    );
    assert!(stderr(&received).contains(&format!("code: {CODE}")), "{}", stderr(&received));
    assert_eq!(fs::read(folder.path().join("there/data/b")).expect("a file"), b"small");
}

#[test]
fn what_is_wrong_is_said_with_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), b"a").expect("written");
    let nobody = format!("127.0.0.1:{}", free_port());
    for (arguments, exit, text) in [
        (&["send", "a", &nobody][..], 3, "start `suimon recv` there"),
        (&["send", "absent", &nobody], 3, "absent"),
        (&["send", "a", &nobody, "--code", "00000-00000-00000-00000-00001"], 2, "mistyped"),
        (&["send", "a", &nobody, "--chunk", "5000 B"], 2, "power of two"),
        (&["send", "a", &nobody, "-P", "65"], 2, "65"),
        (&["recv", "there", "--timeout", "1s"], 2, "use 2 s or more"),
        (&["send", "/", &nobody], 2, "ends in a name"),
        (&["send", "a", "./a", &nobody], 2, "two files would be `a` at the receiver"),
        (&["recv", "a"], 3, "a"),
        (&["recv", "there", "--listen", "256.0.0.1:1"], 3, "--listen"),
    ] {
        let output = suimon(folder.path(), arguments);
        let said = stderr(&output);
        assert_eq!(code(&output), exit, "{arguments:?}: {said}");
        assert!(said.contains(text) && !said.contains("internal error"), "{arguments:?}: {said}");
    }
    let dry = suimon(folder.path(), &["send", "a", &nobody, "--dry-run", "--json"]);
    assert_eq!((code(&dry), &json(&dry)["bytes"]), (0, &1.into()));
    let failed = suimon(folder.path(), &["send", "a", &nobody, "--json"]);
    assert_eq!((code(&failed), &json(&failed)["ok"]), (3, &false.into()));
}

/// `send` with an empty SUIMON_CODE, and with `typed` on stdin.
fn typing(folder: &Path, words: &[&str], typed: &str) -> Output {
    fs::write(folder.join("typed"), typed).expect("written");
    Command::new(SUIMON)
        .args(["send", "a"])
        .args(words)
        .current_dir(folder)
        .env("SUIMON_CODE", "")
        .stdin(fs::File::open(folder.join("typed")).expect("it is there"))
        .output()
        .expect("the program starts")
}

/// What `recv` prints for one transfer.
struct Printed {
    /// The code.
    code: String,
    port: u16,
    /// All of it.
    said: String,
}

/// A transfer to a `recv` with SUIMON_CODE set to `given`, from a `send` that has the printed code on stdin.
fn transferred(given: Option<&str>) -> Printed {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), b"small").expect("written");
    let port = free_port();
    let host = format!("127.0.0.1:{port}");
    let mut command = Command::new(SUIMON);
    command.args(["recv", "there", "--listen", &host]).current_dir(folder.path());
    match given {
        Some(given) => command.env("SUIMON_CODE", given),
        None => command.env_remove("SUIMON_CODE"),
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut receiver = command.spawn().expect("the program starts");
    let (mut lines, mut said) =
        (BufReader::new(receiver.stderr.take().expect("a pipe")), String::new());
    while !said.contains("on the sender") {
        assert!(lines.read_line(&mut said).expect("text") > 0, "{said}");
    }
    let printed = said.lines().find_map(|line| line.split_once("code: "));
    let printed = printed.unwrap_or_else(|| panic!("{said}")).1.to_owned();
    let sent = typing(folder.path(), &[&host], &format!("{printed}\n"));
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    lines.read_to_string(&mut said).expect("text");
    let received = receiver.wait_with_output().expect("it ends");
    assert_eq!(code(&received), 0, "{said}");
    assert_eq!(fs::read(folder.path().join("there/a")).expect("a file"), b"small");
    Printed { code: printed, port, said: said + stdout(&received) }
}

/// Users of a machine see each other's command lines, and a command line with the code in it would be copied.
#[test]
fn no_command_line_that_recv_prints_has_the_code() {
    for given in [None, Some(CODE)] {
        let Printed { code, port, said } = transferred(given);
        assert!(code.len() == CODE.len() && given.is_none_or(|given| given == code), "{said}");
        let with_code: Vec<&str> = said.lines().filter(|line| line.contains(&code)).collect();
        assert!(matches!(with_code[..], [line] if !line.contains("suimon send")), "{said}");
        let command = format!("suimon send PATH... HOST:{port}, then enter the code\n");
        assert!(said.contains(&command), "{said}");
        assert!(!said.contains("--code") && !said.contains("SUIMON_CODE="), "{said}");
    }
}

/// `SUIMON_CODE=` is how shells and unit files clear a variable.
#[test]
fn an_empty_variable_has_no_code() {
    let Printed { code: new, said, .. } = transferred(Some(""));
    assert!(new.len() == CODE.len() && new != CODE, "{said}");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), b"small").expect("written");
    let host = format!("127.0.0.1:{}", free_port());
    for (words, typed) in [(&[host.as_str()][..], ""), (&[host.as_str(), "--code", ""], CODE)] {
        let refused = typing(folder.path(), words, typed);
        assert_eq!(code(&refused), 2, "{words:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("not a one-time code"), "{}", stderr(&refused));
    }
}

#[test]
fn links_and_pipes_are_listed_as_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = fs::canonicalize(folder.path()).expect("a path").join("data");
    fs::create_dir(&data).expect("a folder");
    fs::write(data.join("a"), b"small").expect("written");
    std::os::unix::fs::symlink("a", data.join("link")).expect("a link");
    mkfifo(&data.join("pipe"), Mode::S_IRWXU).expect("a pipe");
    let skipped = ["link", "pipe"].map(|name| data.join(name).display().to_string());
    let [link, pipe] = &skipped;
    let wanted = serde_json::json!([
        { "path": link, "what": "a symbolic link" },
        { "path": pipe, "what": "a pipe" },
    ]);
    let port = free_port();
    let host = format!("127.0.0.1:{port}");
    let dry = suimon(folder.path(), &["send", "data", &host, "--json", "--dry-run"]);
    assert_eq!((code(&dry), &json(&dry)["skipped"]), (0, &wanted));
    let entries = json(&dry)["entries"].clone();
    let names: Vec<_> = entries.as_array().into_iter().flatten().map(|it| &it["name"]).collect();
    assert_eq!(names, ["data", "data/a"]);

    let receiver = listening(folder.path(), port, &[]);
    let sent = suimon(folder.path(), &["send", "data", &host, "--json"]);
    assert_eq!((code(&sent), &json(&sent)["skipped"]), (0, &wanted), "{}", stderr(&sent));
    for note in
        [format!("not sent: {link} is a symbolic link"), format!("not sent: {pipe} is a pipe")]
    {
        assert!(stderr(&sent).contains(&note), "{note}: {}", stderr(&sent));
    }
    assert_eq!(code(&receiver.wait_with_output().expect("it ends")), 0);
    let arrived = fs::read_dir(folder.path().join("there/data")).expect("a folder");
    let arrived: Vec<_> = arrived.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(arrived, ["a"]);
}

#[test]
fn an_interrupted_sender_ends_at_once_and_keeps_what_is_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), vec![7; 4_000_000]).expect("written");
    let port = free_port();
    let receiver = listening(folder.path(), port, &["--json"]);
    let host = format!("127.0.0.1:{port}");
    let slow = ["send", "a", &host, "--rate", "1MBps", "--chunk", "64KiB", "--quiet"];
    let sender =
        Command::new(SUIMON).args(slow).env("SUIMON_CODE", CODE).current_dir(folder.path()).spawn();
    let sender = sender.expect("the program starts");
    eventually("some chunks are there", || recorded(folder.path()) >= 5);
    let pid = Pid::from_raw(i32::try_from(sender.id()).expect("a process"));
    kill(pid, Signal::SIGINT).expect("a signal");
    let sent = sender.wait_with_output().expect("it ends");
    assert_eq!(code(&sent), 130);
    let again = suimon(folder.path(), &["send", "a", &host, "--chunk", "64KiB", "--json"]);
    let bytes = json(&again)["bytes"].as_u64().expect("bytes");
    assert!(bytes <= 4_000_000 - 5 * (64 << 10), "{bytes}");
    let received = receiver.wait_with_output().expect("it ends");
    assert_eq!(json(&received)["files"], 1);
}

#[test]
fn a_sender_whose_receiver_says_nothing_ends_at_once_when_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), b"a").expect("written");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = silent.local_addr().expect("an address").to_string();
    let sender = Command::new(SUIMON)
        .args(["send", "a", &host, "--quiet"])
        .env("SUIMON_CODE", CODE)
        .current_dir(folder.path())
        .spawn()
        .expect("the program starts");
    let (mut waiting, _) = silent.accept().expect("a connection");
    // It has said hello, and waits.
    waiting.read_exact(&mut [0; 100]).expect("a ClientHello");
    let pid = Pid::from_raw(i32::try_from(sender.id()).expect("a process"));
    kill(pid, Signal::SIGINT).expect("a signal");
    assert_eq!(code(&sender.wait_with_output().expect("it ends")), 130);
}

/// Time to try again counts from the last loss, not from the first one.
#[test]
fn a_sender_survives_one_loss_after_another() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), vec![7; 4_000_000]).expect("written");
    let port = free_port();
    let mut receiver = listening(folder.path(), port, &["--json"]);
    let host = format!("127.0.0.1:{port}");
    let words = ["send", "a", &host, "--rate", "500kBps", "--chunk", "64KiB", "--retry", "2 s"];
    let sender = Command::new(SUIMON)
        .args(words)
        .args(["--quiet", "--json"])
        .env("SUIMON_CODE", CODE)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    for chunks in [5, 35] {
        eventually("some chunks are there", || recorded(folder.path()) >= chunks);
        receiver.kill().expect("killed");
        receiver.wait().expect("it ends");
        receiver = listening(folder.path(), port, &["--json"]);
    }
    let sent = sender.wait_with_output().expect("it ends");
    assert_eq!(code(&sent), 0, "{}", stdout(&sent));
    assert_eq!(code(&receiver.wait_with_output().expect("it ends")), 0);
}

#[test]
fn what_is_missing_in_the_end_is_said_at_both_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in [("a", "new"), ("b", "new"), ("there/a", "another")] {
        fs::create_dir_all(folder.path().join("there")).expect("a folder");
        fs::write(folder.path().join(name), content).expect("written");
    }
    let port = free_port();
    let receiver = listening(folder.path(), port, &["--json"]);
    let host = format!("127.0.0.1:{port}");
    let sent = suimon(folder.path(), &["send", "a", "b", &host, "--json"]);
    let received = receiver.wait_with_output().expect("it ends");
    assert_eq!((code(&sent), code(&received)), (1, 1));
    let (sent, received) = (json(&sent), json(&received));
    assert_eq!((&sent["ok"], &received["ok"]), (&false.into(), &false.into()));
    assert_eq!((&sent["files"], &received["files"]), (&1.into(), &1.into()));
    assert_eq!((&sent["refused"][0]["name"], &received["missing"]), (&"a".into(), &1.into()));
}

#[test]
fn what_would_go_to_another_file_system_is_refused_and_the_rest_arrives() {
    if lacks("other file systems", &["unshare", "mount"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["data/mounted/a", "data/bound/b", "data/c"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, b"small").expect("written");
    }
    let port = free_port();
    let script = format!(
        "mkdir -p there/data/mounted there/data/bound && mount -t tmpfs none there/data/mounted && \
         mount --bind there/data/bound there/data/bound && \
         exec $0 recv there --quiet --json --listen 127.0.0.1:{port}"
    );
    let receiver = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script, SUIMON])
        .current_dir(folder.path())
        .env("SUIMON_CODE", CODE)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    eventually("recv listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let sent = suimon(folder.path(), &["send", "data", &format!("127.0.0.1:{port}"), "--json"]);
    let received = receiver.wait_with_output().expect("it ends");
    assert_eq!((code(&sent), code(&received)), (1, 1), "{}", stdout(&sent));
    let refused = json(&sent)["refused"].clone();
    assert_eq!(refused[0]["name"], "data/bound/b");
    assert_eq!(refused[1]["name"], "data/mounted/a");
    assert_eq!((refused[2].is_null(), &json(&received)["files"]), (true, &1.into()));
}

#[test]
fn a_full_disk_is_said_at_both_ends_and_what_is_verified_is_kept() {
    if lacks("a full disk", &["unshare", "mount"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), vec![7; 8_000_000]).expect("written");
    let [port, other] = [free_port(), free_port()];
    // A file system of 4 MB in a mount namespace of its own, larger for the second try.
    let script = format!(
        "mkdir -p there && mount -t tmpfs -o size=4m none there && \
         $0 recv there --quiet --listen 127.0.0.1:{port}; echo first $?; \
         mount -o remount,size=40m there && $0 recv there --quiet --listen 127.0.0.1:{other}; echo second $?; \
         cmp a there/a && echo equal"
    );
    let receiver = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script, SUIMON])
        .current_dir(folder.path())
        .env("SUIMON_CODE", CODE)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let receiver = receiver.expect("a shell");
    let listens = |port| {
        eventually("recv listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        format!("127.0.0.1:{port}")
    };
    let host = listens(port);
    let first = suimon(folder.path(), &["send", "a", &host, "--chunk", "64KiB"]);
    assert_eq!(code(&first), 3);
    assert!(stderr(&first).contains("No space left"), "{}", stderr(&first));
    let host = listens(other);
    let second = suimon(folder.path(), &["send", "a", &host, "--chunk", "64KiB", "--json"]);
    assert_eq!(code(&second), 0, "{}", stdout(&second));
    let bytes = json(&second)["bytes"].as_u64().expect("bytes");
    assert!(bytes < 4_500_000, "{bytes} of 8000000");
    let received = receiver.wait_with_output().expect("it ends");
    let (said, complained) = (stdout(&received), stderr(&received));
    assert!(
        said.contains("first 3") && said.contains("second 0") && said.contains("equal"),
        "{said}{complained}"
    );
    assert!(complained.contains("make room there"), "{complained}");
}
