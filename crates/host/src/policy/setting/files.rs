//! Settings that are files: sysctls, and the limits of transmit queues.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::super::device::Device;
use super::state::State;

/// The file of a kernel setting, written with dots. It belongs to the namespace of the thread that opens it.
fn sysctl(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

pub(super) fn read_sysctl(name: &str) -> io::Result<State> {
    fs::read_to_string(sysctl(name)).map(State::plain)
}

pub(super) fn write_sysctl(name: &str, value: &str) -> io::Result<()> {
    write(&sysctl(name), value)
}

fn limit(device: &Device, queue: &str) -> io::Result<PathBuf> {
    Ok(device.folder()?.join("queues").join(queue).join("byte_queue_limits/limit_max"))
}

pub(super) fn read_limit(device: &Device, queue: &str) -> io::Result<State> {
    fs::read_to_string(limit(device, queue)?).map(State::plain)
}

pub(super) fn write_limit(device: &Device, queue: &str, value: &str) -> io::Result<()> {
    write(&limit(device, queue)?, value)
}

/// Writes a file of the kernel, which must exist, at once.
fn write(path: &Path, value: &str) -> io::Result<()> {
    use std::io::Write;
    fs::OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}
