//! A command in a host of a guest, as typed by the user. Its streams are a terminal, or files shared with the
//! simulator.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base::Instant;
use nix::fcntl::OFlag;
use nix::mount::{MsFlags, mount};
use nix::unistd::pipe2;
use record::guest::{Command, ERRORS, INPUT, OUTPUT};
use scenario::Plan;

use super::terminal;
use crate::Error;
use crate::clock::Clock;
use crate::hosts::Hosts;
use crate::program::{Output, Program, Rights, Site};
use crate::programs;

/// Runs the command, from the run's start until the command ends. A guest without the command's host waits forever.
pub(super) fn run(
    plan: &Plan,
    hosts: &Hosts,
    folder: &Path,
    command: &Command,
    clock: Clock,
) -> Result<ExitStatus, Error> {
    let Some(namespace) = &hosts.namespaces[command.node] else {
        loop {
            thread::park();
        }
    };
    complete_devices();
    if env::set_current_dir(&command.folder).is_err() {
        env::set_current_dir("/").map_err(Error::system("go to the root folder"))?;
    }
    let names = programs::names(plan);
    let host = &plan.nodes[command.node].name;
    let site = Site { namespace, host, names: &names, holder: None };
    thread::sleep(clock.until(Instant::ZERO));
    let spawn = |output| {
        let Command { words, environment, .. } = command;
        Program::spawn_with(&site, words, environment, output, Rights::Own)
    };
    match command.terminal {
        Some(size) => terminal::run(folder, size, spawn),
        None => over_files(folder, spawn),
    }
}

/// Adds the files in `/dev` that shells expect and the kernel does not create: terminals, and names of the streams.
fn complete_devices() {
    let _ = fs::create_dir("/dev/pts");
    let options = Some("ptmxmode=0666");
    let _ = mount(Some("devpts"), "/dev/pts", Some("devpts"), MsFlags::empty(), options);
    for (name, of) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        let _ = symlink(format!("/proc/self/fd{of}"), Path::new("/dev").join(name));
    }
}

/// Runs a program whose streams are files.
fn over_files(
    folder: &Path,
    spawn: impl FnOnce(Output) -> Result<Program, Error>,
) -> Result<ExitStatus, Error> {
    let path = folder.join(INPUT);
    let input = File::open(&path).map_err(Error::system(format!("read {}", path.display())))?;
    let (output, output_copy) = pipe_to(folder.join(OUTPUT))?;
    let (errors, errors_copy) = pipe_to(folder.join(ERRORS))?;
    let mut program = spawn(Output::Streams([input.into(), output, errors]))?;
    let status = program.wait()?;
    // This ends the processes that the program left running, so the pipes are closed.
    program.end()?;
    [output_copy, errors_copy].into_iter().try_for_each(finish)?;
    Ok(status)
}

/// Creates a pipe into a new file. With the file itself, a program could truncate it, for example by `> /dev/stderr`.
fn pipe_to(path: PathBuf) -> Result<(OwnedFd, JoinHandle<io::Result<()>>), Error> {
    let (end, write_end) =
        pipe2(OFlag::O_CLOEXEC).map_err(Error::system("make a pipe for a command's output"))?;
    Ok((write_end, copy(File::from(end), path, Duration::ZERO)?))
}

/// Copies data from `from` into a new file as it comes, with a `pause` after each read.
pub(super) fn copy(
    mut from: File,
    path: PathBuf,
    pause: Duration,
) -> Result<JoinHandle<io::Result<()>>, Error> {
    let what = format!("write {}", path.display());
    let mut file = File::create(path).map_err(Error::system(what))?;
    let copy = move || {
        let mut bytes = vec![0; 64 << 10];
        loop {
            match from.read(&mut bytes) {
                Ok(0) => return Ok(()),
                // The terminal's program is gone.
                Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => file.write_all(&bytes[..read?])?,
            }
            if !pause.is_zero() {
                thread::sleep(pause);
            }
        }
    };
    thread::Builder::new()
        .spawn(copy)
        .map_err(Error::system("start a thread for a command's output"))
}

/// Waits until all data is copied.
pub(super) fn finish(copy: JoinHandle<io::Result<()>>) -> Result<(), Error> {
    let copied = copy.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    copied.map_err(Error::system("copy a command's output"))
}
