//! The setup of an MPI library's launcher to start ranks at hosts over TCP ([`crate::remote`]).

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use record::folder::TemporaryFolder;

use crate::error::Error;
use crate::folder;
use crate::library::Library;

/// The hosts, and the files that launchers need to start ranks there.
#[derive(Debug)]
pub struct Launcher {
    library: Library,
    folder: TemporaryFolder,
}

impl Launcher {
    /// Creates the files for ranks at these hosts, in this order. `program` is this program, for the launcher's agent.
    ///
    /// # Errors
    /// If there is no room for temporary files.
    pub fn new(library: Library, hosts: &[String], program: &Path) -> Result<Self, Error> {
        let folder = folder::among_temporary()?;
        let launcher = Self { library, folder };
        let slots = if library == Library::OpenMpi { " slots=1" } else { "" };
        let lines: String = hosts.iter().map(|host| format!("{host}{slots}\n")).collect();
        let file = launcher.hosts();
        fs::write(&file, lines).map_err(Error::io(&file))?;
        let agent = launcher.agent();
        let quoted = program.to_string_lossy().replace('\'', "'\\''");
        let script = format!("#!/bin/sh\nexec '{quoted}' mpi start \"$@\"\n");
        let written = OpenOptions::new().write(true).create_new(true).mode(0o755).open(&agent);
        let written = written.and_then(|mut file| file.write_all(script.as_bytes()));
        written.map_err(Error::io(&agent))?;
        Ok(launcher)
    }

    fn hosts(&self) -> PathBuf {
        self.folder.path().join("hosts")
    }

    fn agent(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    /// Sets the environment variables of a launcher command. Variables that are set already stay.
    pub fn set_environment(&self, command: &mut Command) {
        let (hosts, agent) = (self.hosts(), self.agent());
        let (hosts, agent) = (&*hosts.to_string_lossy(), &*agent.to_string_lossy());
        let variables: &[(&str, &str)] = match self.library {
            Library::OpenMpi => &[
                ("OMPI_MCA_orte_default_hostfile", hosts),
                ("OMPI_MCA_plm", "rsh"),
                ("OMPI_MCA_plm_rsh_agent", agent),
                ("OMPI_MCA_plm_rsh_no_tree_spawn", "1"),
                // Host names may contain a dot: node.1 and node.2 are two hosts.
                ("OMPI_MCA_orte_keep_fqdn_hostnames", "1"),
                ("OMPI_MCA_pml", "ob1"),
                ("OMPI_MCA_btl", "tcp,self"),
                // The hosts share this machine's CPUs.
                ("OMPI_MCA_mpi_yield_when_idle", "1"),
                ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
                // All hosts are on this machine: the launcher at each host would bind its first rank to the same CPU.
                ("OMPI_MCA_hwloc_base_binding_policy", "none"),
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ],
            Library::Mpich => &[
                ("HYDRA_HOST_FILE", hosts),
                ("HYDRA_LAUNCHER", "ssh"),
                ("HYDRA_LAUNCHER_EXEC", agent),
                ("UCX_TLS", "tcp,self"),
                ("UCX_KEEPALIVE_INTERVAL", "inf"),
            ],
        };
        for (name, value) in variables.iter().filter(|(name, _)| env::var_os(name).is_none()) {
            command.env(name, value);
        }
    }
}

/// Parses a list of hosts, such as `a,node.1..16`.
pub fn hosts(list: &str) -> Vec<String> {
    let numbered = |name: &str| {
        let (first, last) = name.split_once("..")?;
        let (prefix, first) = first.rsplit_once('.')?;
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some((first..=last).map(|number| format!("{prefix}.{number}")).collect())
    };
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.flat_map(|name| numbered(name).unwrap_or_else(|| vec![name.to_owned()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_hosts_are_spelled_as_in_scenarios() {
        assert_eq!(hosts("a, node.2..4,b.c,"), ["a", "node.2", "node.3", "node.4", "b.c"]);
        assert_eq!(hosts("x..3"), ["x..3"]);
    }
}
