//! Congestion control in the kernel: loads the algorithms of a plan's flows for the run.

use std::ffi::OsString;
use std::{fs, io};

use ::congestion::{self, Algorithm};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use scenario::Plan;
use scenario::plan::{Flow, Tcp};
use transport::Config;

use crate::Error;

/// The algorithms that the kernel implements itself: our name and the kernel's.
const KERNELS_OWN: [(&str, &str); 2] = [("newreno", "reno"), ("cubic", "cubic")];

/// The plan's algorithms. Loaded algorithms are removed when this value is dropped or the process ends.
#[derive(Debug, Default)]
pub struct Congestion {
    names: Names,
    notes: Vec<String>,
    #[cfg(feature = "bpf")]
    modules: Vec<host::Module>,
}

/// The name in the kernel of each algorithm with its parameters.
#[derive(Clone, Debug, Default)]
pub struct Names(pub(crate) Vec<(congestion::Config, String)>);

impl Names {
    /// The value for TCP_CONGESTION.
    pub fn get(&self, congestion: &congestion::Config) -> &str {
        let loaded = self.0.iter().find(|(config, _)| config == congestion);
        loaded.map_or(congestion.algorithm().kernel_name(), |(_, name)| name)
    }
}

impl Congestion {
    /// Loads the algorithms that flows of `plan` send with, from the start or after a change. If this kernel or the
    /// user's rights do not allow it, the kernel's own algorithm of the same kind is used, and a note says so.
    ///
    /// # Errors
    /// `Lacking` for an algorithm that the kernel does not have either.
    pub fn load(plan: &Plan) -> Result<Self, Error> {
        Self::with(plan, Self::add)
    }

    /// Uses our algorithms as built into a guest kernel, each with the parameters with which the kernel was started.
    ///
    /// # Errors
    /// `Lacking` for an algorithm that this kernel does not have.
    pub fn built_in(plan: &Plan) -> Result<Self, Error> {
        Self::with(plan, |_, config| exists(config.algorithm().kernel_name()))
    }

    fn with(
        plan: &Plan,
        mut add: impl FnMut(&mut Self, &congestion::Config) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut loaded = Self::default();
        let tcp = plan.flows.iter().filter_map(Flow::tcp);
        tcp.filter_map(|tcp| tcp.kernel_congestion.as_deref()).try_for_each(exists)?;
        plan.congestion(|_| true).try_for_each(|config| add(&mut loaded, &config))?;
        Ok(loaded)
    }

    fn add(&mut self, config: &congestion::Config) -> Result<(), Error> {
        if self.names.0.iter().any(|(known, _)| known == config) {
            return Ok(());
        }
        let name = match self.register(config) {
            Ok(name) => name,
            Err(error) => self.substitute(config.algorithm(), error)?,
        };
        self.names.0.push((*config, name));
        Ok(())
    }

    #[cfg(feature = "bpf")]
    fn register(&mut self, config: &congestion::Config) -> io::Result<String> {
        let module = host::Module::load(config)?;
        let name = module.name().to_owned();
        self.modules.push(module);
        Ok(name)
    }

    #[cfg(not(feature = "bpf"))]
    fn register(&mut self, _config: &congestion::Config) -> io::Result<String> {
        Err(io::Error::other("this build has no BPF objects (feature `bpf`)"))
    }

    /// The name of the kernel's own algorithm in place of `algorithm`.
    fn substitute(&mut self, algorithm: &Algorithm, error: io::Error) -> Result<String, Error> {
        let name = algorithm.name();
        let Some((_, own)) = KERNELS_OWN.iter().find(|(ours, _)| *ours == name) else {
            let help = "run it as root on a kernel with BTF and BPF struct_ops (CONFIG_DEBUG_INFO_BTF, \
                        CONFIG_BPF_JIT; Linux 5.13), with a build that has feature `bpf`; or let the flow \
                        use `newreno` or `cubic`";
            return Err(Error::lacking(format!("load `{name}` into the kernel"), error, help));
        };
        exists(own)?;
        self.notes.push(format!(
            "`{name}` is the kernel's own `{own}`, because ours cannot be loaded: {error}"
        ));
        Ok((*own).to_owned())
    }

    /// The value for TCP_CONGESTION at the end of `tcp` with the configuration `end`.
    pub fn name_for<'a>(&'a self, tcp: &'a Tcp, end: &Config) -> &'a str {
        tcp.kernel_congestion.as_deref().unwrap_or_else(|| self.names.get(&end.congestion))
    }

    /// The names of the plan's algorithms in the kernel.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The kernel's own algorithms that flows of `plan` use, each once.
    pub fn of_the_kernel(&self, plan: &Plan) -> Vec<String> {
        let substitutes = self.names.0.iter().map(|(_, name)| name);
        let substitutes = substitutes.filter(|name| KERNELS_OWN.iter().any(|(_, own)| own == name));
        let tcp = plan.flows.iter().filter_map(|flow| flow.tcp());
        let mut names: Vec<String> = substitutes
            .chain(tcp.filter_map(|tcp| tcp.kernel_congestion.as_ref()))
            .cloned()
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Notes for the reader of the results.
    pub fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// Whether this build holds our algorithms as BPF objects.
pub const IS_BUILT_IN: bool = cfg!(feature = "bpf");

/// Tests loading of one of our algorithms, and removes it again.
///
/// # Errors
/// If this kernel or the user's rights do not allow it, or this build has no algorithms.
pub fn try_load() -> Result<(), Error> {
    let what = "load our congestion control into the kernel";
    let algorithm = Algorithm::by_name("newreno");
    let algorithm = algorithm.ok_or(io::ErrorKind::NotFound).map_err(Error::system(what))?;
    Congestion::default().register(&algorithm.into()).map(drop).map_err(Error::system(what))
}

/// Checks that the kernel has a congestion control `name`. The kernel loads a module for it if needed.
fn exists(name: &str) -> Result<(), Error> {
    let what = || format!("use the kernel's congestion control `{name}`");
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(Error::system(what()))?;
    let set = setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(name));
    // EPERM: the algorithm exists, but needs CAP_NET_ADMIN, which we have in the hosts.
    let set = set.or_else(|errno| if errno == Errno::EPERM { Ok(()) } else { Err(errno) });
    set.map_err(|errno| {
        let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let known = known.unwrap_or_default();
        let help = format!("modprobe tcp_{name}, or use one of: {}", known.trim());
        Error::lacking(what(), errno.into(), help)
    })
}
