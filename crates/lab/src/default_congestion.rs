//! The congestion control of connections whose program chooses none: CUBIC, the default of Linux.
//!
//! It is set by `net.ipv4.tcp_congestion_control` of a host's namespace. Except in the initial namespace, Linux
//! accepts only algorithms in `net.ipv4.tcp_allowed_congestion_control` (net/ipv4/tcp_cong.c,
//! `tcp_set_default_congestion_control`). If CUBIC is not listed, a BPF program sets it on each connection. That needs
//! root and the feature `bpf`; without them, programs get another algorithm, and a warning says so.

use std::{fs, io};

use nix::errno::Errno;

use crate::{Error, Namespace, sysctl};

#[cfg(feature = "bpf")]
mod connections;

/// The algorithm for connections. Otherwise a new namespace would inherit the machine's setting, and a run would give
/// different results on another machine.
const CUBIC: &str = "cubic";
/// The algorithm that every kernel has and usually allows.
const RENO: &str = "reno";

const SETTING: &str = "net.ipv4.tcp_congestion_control";
const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";

/// The default congestion control of a run's hosts. It applies as long as this value exists.
#[derive(Debug, Default)]
pub struct DefaultCongestion {
    #[cfg(feature = "bpf")]
    connections: Option<connections::Connections>,
    substitute: Option<Substitute>,
}

/// Another algorithm in place of CUBIC.
#[derive(Debug)]
struct Substitute {
    name: String,
    /// The reason why the setting refuses CUBIC.
    refusal: io::Error,
    /// The reason why no BPF program sets it.
    bpf: io::Error,
}

impl DefaultCongestion {
    /// Makes CUBIC the default of `hosts`.
    ///
    /// # Errors
    /// If a namespace cannot be entered. It is not an error if programs get another algorithm.
    pub fn set(hosts: &[&Namespace]) -> Result<Self, Error> {
        let mut refused = None;
        for &host in hosts {
            if let Err(refusal) = sysctl::try_set(host, SETTING, CUBIC)? {
                // If Reno is refused too, the machine's default remains.
                let _ = sysctl::try_set(host, SETTING, RENO)?;
                refused = Some((host, refusal));
            }
        }
        let Some((host, refusal)) = refused else { return Ok(Self::default()) };
        let mut set = Self::default();
        if let Err(bpf) = set.attach(hosts) {
            let name = sysctl::get(host, SETTING)?.unwrap_or_else(|_| RENO.into());
            set.substitute = Some(Substitute { name, refusal, bpf });
        }
        Ok(set)
    }

    #[cfg(feature = "bpf")]
    fn attach(&mut self, hosts: &[&Namespace]) -> io::Result<()> {
        self.connections = Some(connections::Connections::attach(hosts, CUBIC)?);
        Ok(())
    }

    #[cfg(not(feature = "bpf"))]
    fn attach(&mut self, _hosts: &[&Namespace]) -> io::Result<()> {
        Err(io::Error::other("this build has no BPF objects (feature `bpf`)"))
    }

    /// The source of CUBIC for connections, as text; an error text if they do not get it.
    pub(crate) fn source(&self) -> Result<&'static str, String> {
        if let Some(Substitute { name, refusal, bpf }) = &self.substitute {
            return Err(format!("programs use `{name}`: {SETTING}: {refusal}; BPF: {bpf}"));
        }
        #[cfg(feature = "bpf")]
        if self.connections.is_some() {
            return Ok("programs use `cubic`: a BPF program sets it on each connection");
        }
        Ok("programs use `cubic`")
    }

    /// The command for an administrator so that connections get CUBIC; empty if they do.
    pub(crate) fn command(&self) -> String {
        self.substitute.as_ref().map(Substitute::command).unwrap_or_default()
    }

    /// The warning that programs get another algorithm, with its name and a fix; `None` if they get CUBIC.
    pub(crate) fn warning(&self) -> Option<String> {
        self.substitute.as_ref().map(Substitute::warning)
    }
}

impl Substitute {
    /// Whether the kernel has CUBIC but does not allow it in a namespace.
    fn is_restricted(&self) -> bool {
        self.refusal.raw_os_error() == Some(Errno::EPERM as i32)
    }

    fn warning(&self) -> String {
        let Self { name, refusal, .. } = self;
        let why = match self.is_restricted() {
            true => format!("{ALLOWED} does not list `{CUBIC}`"),
            false => format!("{SETTING}: {refusal}"),
        };
        let command = self.command();
        format!("programs in hosts use `{name}`, not `{CUBIC}`: {why}; as root: {command}")
    }

    fn command(&self) -> String {
        if !self.is_restricted() {
            return "modprobe tcp_cubic".into();
        }
        // Only the initial namespace has this file; a container may not see it.
        let path = sysctl::path(ALLOWED);
        let allowed = fs::read_to_string(path).unwrap_or_else(|_| RENO.into());
        format!("sysctl -w {ALLOWED}=\"{} {CUBIC}\"", allowed.trim())
    }
}
