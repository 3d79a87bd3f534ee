//! A systemd unit that applies a policy at boot.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::arguments::{HostArgs, require_root};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::output;

/// The unit's file.
const UNIT: &str = "suimon-host.service";

/// Exists while systemd runs (sd_booted(3)).
const SYSTEMD: &str = "/run/systemd/system";

#[derive(Debug, Args)]
pub(super) struct EnableArguments {
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    unit: UnitArgs,
}

#[derive(Debug, Args)]
pub(super) struct UnitArgs {
    /// The folder of the unit
    #[arg(long, value_name = "FOLDER", default_value = "/etc/systemd/system")]
    units: PathBuf,
}

/// Writes the unit for a policy that can be applied now.
pub(super) fn enable(arguments: &EnableArguments) -> Result<Exit, Failure> {
    require_root("enable FILE HOST")?;
    let EnableArguments { host, unit: UnitArgs { units } } = arguments;
    host.policy(false)?.check()?;
    let program = std::env::current_exe().map_err(failure::folder(Path::new("/proc/self/exe")))?;
    let file = fs::canonicalize(&host.file).map_err(failure::file(&host.file))?;
    let path = units.join(UNIT);
    fs::write(&path, unit(&program, &file, host)).map_err(failure::unwritten(&path))?;
    systemctl(&["enable", UNIT], units)?;
    output::print(&format!("{} applies host {} at each boot\n", path.display(), host.host))?;
    Ok(Exit::Fine)
}

/// Removes the unit.
pub(super) fn disable(UnitArgs { units }: &UnitArgs) -> Result<Exit, Failure> {
    require_root("disable")?;
    let path = units.join(UNIT);
    if !path.exists() {
        output::print("no policy is enabled\n")?;
        return Ok(Exit::Fine);
    }
    systemctl(&["disable", UNIT], units)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failure::unwritten(&path)(error));
        }
        _ => output::print(&format!("{} is removed\n", path.display()))?,
    }
    Ok(Exit::Fine)
}

/// Runs systemctl where systemd runs and reads the unit.
fn systemctl(words: &[&str], units: &Path) -> Result<(), Failure> {
    if !Path::new(SYSTEMD).is_dir() || units != Path::new("/etc/systemd/system") {
        return Ok(());
    }
    let run = |words: &[&str]| Command::new("systemctl").args(words).status();
    match run(&["daemon-reload"]).and_then(|_| run(words)) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let message = format!("systemctl {}: {status}", words.join(" "));
            Err(Failure::lacking(message, format!("systemctl status {UNIT}")))
        }
        Err(error) => Err(Failure::lacking(
            format!("run systemctl: {error}"),
            format!("systemctl {}", words.join(" ")),
        )),
    }
}

/// The unit's text. A machine that lacks something may have it soon, such as a device whose driver is slow: the unit tries
/// again, five times in all. A wrong scenario stays wrong.
fn unit(program: &Path, file: &Path, host: &HostArgs) -> String {
    let device = |option: &host::policy::DeviceOption| match &option.link {
        Some(link) => format!("{link}={}", option.device),
        None => option.device.clone(),
    };
    let mut words = vec![program.display().to_string(), "host".into(), "apply".into()];
    for option in &host.device {
        words.extend(["--device".to_owned(), device(option)]);
    }
    for assignment in &host.set {
        words.extend(["--set".to_owned(), assignment.clone()]);
    }
    words.extend(["--".to_owned(), file.display().to_string(), host.host.clone()]);
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let stop = quoted(&program.display().to_string());
    format!(
        "[Unit]\n\
         Description=Suimon: host {} of {}\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         StartLimitIntervalSec=5min\n\
         StartLimitBurst=5\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         Restart=on-failure\n\
         RestartSec=10s\n\
         RestartPreventExitStatus=2\n\
         ExecStart={}\n\
         ExecStop={stop} host rollback\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        escaped(&host.host),
        escaped(&file.display().to_string()),
        words.join(" "),
    )
}

/// A word of a command in a unit (systemd.service(5), "Command lines").
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => {
            let inner = word.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "$$");
            format!("\"{}\"", escaped(&inner))
        }
    }
}

/// Text without systemd's specifiers and line ends.
fn escaped(text: &str) -> String {
    text.replace('%', "%%").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_names_its_command_word_by_word() {
        let host = HostArgs {
            file: "x.toml".into(),
            host: "a".into(),
            device: vec!["wan=eth0".parse().expect("a device")],
            set: vec!["link.wan.rate=5 Mbit/s".into()],
        };
        let text = unit(Path::new("/usr/bin/suimon"), Path::new("/etc/a \"b\" 5%.toml"), &host);
        let start = text.lines().find(|line| line.starts_with("ExecStart=")).expect("a command");
        let wanted = "ExecStart=/usr/bin/suimon host apply --device wan=eth0 --set \
                      \"link.wan.rate=5 Mbit/s\" -- \"/etc/a \\\"b\\\" 5%%.toml\" a";
        assert_eq!(start, wanted);
        assert!(text.contains("ExecStop=/usr/bin/suimon host rollback\n"), "{text}");
    }
}
