//! The congestion control of connections whose program chooses none: CUBIC, Linux's own default.
//!
//! A host has it from `net.ipv4.tcp_congestion_control` of its namespace. Of all namespaces but the first, Linux
//! lets that be only what `net.ipv4.tcp_allowed_congestion_control` lists (net/ipv4/tcp_cong.c,
//! `tcp_set_default_congestion_control`). Where CUBIC is not listed, a BPF program sets it on each connection.
//! That takes root's rights and the feature `bpf`; without them programs get another algorithm, which is told.

use std::{fs, io};

use nix::errno::Errno;

use crate::{Error, Namespace, sysctl};

#[cfg(feature = "bpf")]
mod connections;

/// What connections are to have. A new namespace would take over what the machine is set to, and a run would give
/// other figures on another machine.
const CUBIC: &str = "cubic";
/// What a kernel always has, and usually allows.
const RENO: &str = "reno";

const SETTING: &str = "net.ipv4.tcp_congestion_control";
const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";

/// What was done for it. Connections get it as long as the value lives.
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
    /// Why the setting refuses CUBIC.
    refusal: io::Error,
    /// Why no BPF program sets it.
    bpf: io::Error,
}

impl DefaultCongestion {
    /// Makes CUBIC the default of `hosts`.
    ///
    /// # Errors
    /// If a namespace cannot be entered. That programs get another algorithm is no error.
    pub fn set(hosts: &[&Namespace]) -> Result<Self, Error> {
        let mut refused = None;
        for &host in hosts {
            if let Err(refusal) = sysctl::try_set(host, SETTING, CUBIC)? {
                // If that is refused too, it is the machine's default.
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

    /// Where connections get CUBIC from, in words; an error, in words, if they do not.
    pub(crate) fn source(&self) -> Result<&'static str, String> {
        if let Some(Substitute { name, refusal, bpf }) = &self.substitute {
            return Err(format!("programs get `{name}`: {SETTING}: {refusal}; BPF: {bpf}"));
        }
        #[cfg(feature = "bpf")]
        if self.connections.is_some() {
            return Ok("programs get `cubic`: a BPF program sets it on each connection");
        }
        Ok("programs get `cubic`")
    }

    /// What an administrator types so that connections get CUBIC; empty if they do.
    pub(crate) fn command(&self) -> String {
        self.substitute.as_ref().map(Substitute::command).unwrap_or_default()
    }

    /// That programs get another algorithm, which one and what mends it.
    pub(crate) fn warning(&self) -> Option<String> {
        self.substitute.as_ref().map(Substitute::warning)
    }
}

impl Substitute {
    /// There is CUBIC, and a namespace may not have it.
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
        // It is the first namespace's alone; a container may not see it.
        let path = sysctl::path(ALLOWED);
        let allowed = fs::read_to_string(path).unwrap_or_else(|_| RENO.into());
        format!("sysctl -w {ALLOWED}=\"{} {CUBIC}\"", allowed.trim())
    }
}
