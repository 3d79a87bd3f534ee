//! The cgroup hierarchy, for attaching BPF programs.

use std::path::PathBuf;
use std::{fs, io};

/// The mount point of the complete cgroup hierarchy of this process's cgroup namespace (cgroups(7), version 2).
///
/// # Errors
/// If it is not mounted.
pub fn root_cgroup() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    root_mount(&mounts).ok_or_else(|| io::Error::other("no cgroup2 is mounted"))
}

/// The mount in a `mountinfo` file of proc(5): its fields 4 and 5 are the root within the file system and the
/// mount point; the type comes after a hyphen.
fn root_mount(mounts: &str) -> Option<PathBuf> {
    let mount = |line: &str| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        (kind.starts_with("cgroup2 ") && root == "/").then(|| PathBuf::from(point))
    };
    mounts.lines().find_map(mount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_hierarchy_is_found_among_mounts() {
        let hybrid = "\
            24 20 0:21 / /sys/fs/cgroup rw shared:6 - tmpfs tmpfs rw,mode=755\n\
            25 24 0:22 / /sys/fs/cgroup/cpu rw shared:7 - cgroup cgroup rw,cpu\n\
            26 24 0:23 /one /mnt/part rw - cgroup2 cgroup2 rw\n\
            27 24 0:23 / /sys/fs/cgroup/unified rw shared:8 - cgroup2 cgroup2 rw\n";
        assert_eq!(root_mount(hybrid), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        let part = "26 24 0:23 /one /mnt/part rw - cgroup2 cgroup2 rw\n";
        assert_eq!(root_mount(part), None);
    }
}
