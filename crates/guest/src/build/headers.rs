//! The folder for compiling modules of the guest kernel, as Debian's `linux-headers`: headers, makefiles and
//! the build's own programs, without the source.

use std::fs;
use std::io;
use std::path::Path;

use base::Fault;
use record::error;

/// What a module's build reads of the source, then of the objects: folders and files, from the top.
const OF_SOURCE: [&str; 7] = [
    "Makefile",
    "scripts",
    "include",
    "arch/um",
    "arch/x86/Makefile.um",
    "arch/x86/include",
    "arch/x86/um",
];
const OF_OBJECTS: [&str; 6] =
    [".config", "Module.symvers", "scripts", "include", "arch/um", "arch/x86/include"];

/// Headers of devices and formats that this configuration does not have: a quarter of the size.
const UNUSED: [&str; 9] =
    ["dt-bindings", "drm", "media", "rdma", "scsi", "soc", "sound", "video", "xen"];

/// Moves what modules need from `tree` and `objects` into the new folder `to`.
pub(super) fn gather(tree: &Path, objects: &Path, to: &Path) -> Result<(), Fault> {
    for name in UNUSED {
        let folder = tree.join("include").join(name);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error::folder(&folder)(error));
            }
            _ => {}
        }
    }
    for (from, names) in [(tree, &OF_SOURCE[..]), (objects, &OF_OBJECTS)] {
        for name in names {
            let (from, to) = (from.join(name), to.join(name));
            let parent = to.parent().unwrap_or(&to);
            fs::create_dir_all(parent).map_err(error::folder(parent))?;
            merge(&from, &to).map_err(error::file(&from))?;
        }
    }
    // The architecture that all builds in this folder are for.
    let makefile = to.join("Makefile");
    let text = fs::read_to_string(&makefile).map_err(error::file(&makefile))?;
    fs::write(&makefile, format!("ARCH := um\n{text}")).map_err(error::unwritten(&makefile))
}

/// Moves a file or folder; the entries of a folder that exists already are added to it, and replace those there.
fn merge(from: &Path, to: &Path) -> io::Result<()> {
    if !(from.symlink_metadata()?.is_dir() && to.is_dir()) {
        return fs::rename(from, to);
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        merge(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
