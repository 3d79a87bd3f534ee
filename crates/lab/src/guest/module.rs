//! The kernel module `sch_suimon`, for hosts whose disciplines are qdiscs of their kernel.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use record::guest::{Assignment, MODULE};
use scenario::Plan;

use crate::Error;

/// No parameters.
const NONE: &CStr = c"";

/// Loads the module from the shared folder if a host here needs it.
pub(super) fn load(plan: &Plan, assignment: &Assignment, folder: &Path) -> Result<(), Error> {
    if !assignment.cards.iter().any(|card| plan.has_qdiscs(card.node)) {
        return Ok(());
    }
    let loaded = File::open(folder.join(MODULE)).and_then(|file| {
        finit_module(file, NONE, ModuleInitFlags::empty()).map_err(io::Error::from)
    });
    match loaded {
        Err(error) if error.raw_os_error() == Some(Errno::ENOEXEC as i32) => Err(Error::lacking(
            "load sch_suimon",
            error,
            "compile it for this guest kernel: make module",
        )),
        other => other.map_err(Error::system("load sch_suimon")),
    }
}
