//! Congestion control in the kernel: the algorithms that a plan's flows name, loaded for the run.

use std::ffi::OsString;
use std::{fs, io};

use ::congestion::{self, Algorithm};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use scenario::Plan;
use scenario::plan::{Flow, Tcp};
use transport::Config;

use crate::Error;

/// What the kernel has itself of our algorithms, by our name and its own.
const KERNELS_OWN: [(&str, &str); 2] = [("newreno", "reno"), ("cubic", "cubic")];

/// The plan's algorithms; what was loaded goes with the value, or with the process.
#[derive(Debug, Default)]
pub struct Congestion {
    names: Names,
    notes: Vec<String>,
    #[cfg(feature = "bpf")]
    modules: Vec<host::Module>,
}

/// For each algorithm and its parameters, what the kernel knows it by.
#[derive(Clone, Debug, Default)]
pub struct Names(pub(crate) Vec<(congestion::Config, String)>);

impl Names {
    /// What TCP_CONGESTION is to be set to.
    pub fn get(&self, congestion: &congestion::Config) -> &str {
        let loaded = self.0.iter().find(|(config, _)| config == congestion);
        loaded.map_or(congestion.algorithm().kernel_name(), |(_, name)| name)
    }
}

impl Congestion {
    /// Loads every algorithm that a flow of `plan` sends with, from the start or by a change. Where this kernel or this user cannot, the
    /// kernel's own of the same kind takes its place, and a note says so.
    ///
    /// # Errors
    /// `Lacking` for an algorithm that the kernel has not, either.
    pub fn load(plan: &Plan) -> Result<Self, Error> {
        Self::with(plan, Self::add)
    }

    /// Our algorithms as a guest kernel has them built in, each with the parameters that the kernel was started with.
    ///
    /// # Errors
    /// `Lacking` for an algorithm that this kernel has not.
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

    /// The kernel's own in place of `algorithm`.
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
            "`{name}` is the kernel's own `{own}`, for ours cannot be loaded: {error}"
        ));
        Ok((*own).to_owned())
    }

    /// What TCP_CONGESTION is to be set to for the end of `tcp` that is configured so.
    pub fn name_for<'a>(&'a self, tcp: &'a Tcp, end: &Config) -> &'a str {
        tcp.kernel_congestion.as_deref().unwrap_or_else(|| self.names.get(&end.congestion))
    }

    /// What the kernel knows the plan's algorithms by.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The kernel's own that flows of `plan` use, each once.
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

    /// What a reader of the results should know.
    pub fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// Whether this build holds our algorithms as BPF objects.
pub const IS_BUILT_IN: bool = cfg!(feature = "bpf");

/// Loads one of our algorithms, and takes it off again.
///
/// # Errors
/// If this kernel or this user cannot, or this build holds none.
pub fn try_load() -> Result<(), Error> {
    let what = "load our congestion control into the kernel";
    let algorithm = Algorithm::by_name("newreno");
    let algorithm = algorithm.ok_or(io::ErrorKind::NotFound).map_err(Error::system(what))?;
    Congestion::default().register(&algorithm.into()).map(drop).map_err(Error::system(what))
}

/// Whether the kernel has a congestion control of that name of its own; it loads a module for it.
fn exists(name: &str) -> Result<(), Error> {
    let what = || format!("use the kernel's congestion control `{name}`");
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(Error::system(what()))?;
    let set = setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(name));
    // There is one, which only those may use who rule the network: as we do in the hosts.
    let set = set.or_else(|errno| if errno == Errno::EPERM { Ok(()) } else { Err(errno) });
    set.map_err(|errno| {
        let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let known = known.unwrap_or_default();
        let help = format!("modprobe tcp_{name}, or name one of: {}", known.trim());
        Error::lacking(what(), errno.into(), help)
    })
}
