//! The version of the module: which text it is compiled from.

/// The version of a module that is compiled from this text, as `/sys/module/sch_suimon/version` shows it: the number of
/// Suimon, and a hash of the text of disciplines and module.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("SUIMON_MODULE_TEXT"));

/// The module's own version, where Linux looks for it.
#[cfg(target_os = "none")]
mod information {
    const TEXT: &str =
        concat!("version=", env!("CARGO_PKG_VERSION"), "-", env!("SUIMON_MODULE_TEXT"), "\0");

    /// Named among the kept symbols by `kernel/module/build`.
    // SAFETY: the section holds texts that end with a zero, as this one does.
    #[unsafe(no_mangle)]
    #[unsafe(link_section = ".modinfo")]
    static SUIMON_VERSION: [u8; TEXT.len()] = {
        let (mut bytes, mut at) = ([0; TEXT.len()], 0);
        while at < bytes.len() {
            bytes[at] = TEXT.as_bytes()[at];
            at += 1;
        }
        bytes
    };
}
