//! The CPUs for a host's receive processing: the kernel's Receive Packet Steering
//! (Documentation/networking/scaling.rst).

use std::io;

use crate::{Error, Namespace, sysctl};

/// Makes the next interface of `host` do its receive processing on `cpus`. Returns whether the kernel supports that.
pub(super) fn set(host: &Namespace, cpus: &[usize]) -> Result<bool, Error> {
    // Unlike an interface's rps_cpus, this needs no sysfs, and is writable for root of a user namespace.
    const NAME: &str = "net.core.rps_default_mask";
    let mask = mask(cpus);
    match sysctl::try_set(host, NAME, &mask)? {
        Ok(()) => Ok(!cpus.is_empty()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::system(format!("set {NAME} to {mask}"))(error)),
    }
}

/// A set of CPUs in the kernel's format: 32-bit words in hexadecimal, the highest first.
fn mask(cpus: &[usize]) -> String {
    let mut words = vec![0u32; cpus.iter().max().map_or(1, |last| last / 32 + 1)];
    for cpu in cpus {
        if let Some(word) = words.get_mut(cpu / 32) {
            *word |= 1 << (cpu % 32);
        }
    }
    let words: Vec<_> = words.iter().rev().map(|word| format!("{word:08x}")).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_cpus_is_written_as_the_kernel_does() {
        assert_eq!(mask(&[]), "00000000");
        assert_eq!(mask(&[1]), "00000002");
        assert_eq!(mask(&[0, 33]), "00000002,00000001");
    }
}
