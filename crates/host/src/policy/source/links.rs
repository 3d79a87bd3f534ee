//! Which device of this machine is a link of the scenario's host.

use std::str::FromStr;

use scenario::Plan;

use super::super::device::{Device, devices};
use super::super::setting::route;
use super::draft::Request;
use base::Fault;

/// A device for a link, as typed: `LINK=DEVICE`, or `DEVICE` for the only link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOption {
    /// The link.
    pub link: Option<String>,
    /// The device.
    pub device: String,
}

impl FromStr for DeviceOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (link, device) = match text.split_once('=') {
            Some((link, device)) => (Some(link.to_owned()), device),
            None => (None, text),
        };
        if device.is_empty() || link.as_deref() == Some("") {
            return Err("write LINK=DEVICE, such as access=eth0".to_owned());
        }
        Ok(Self { link, device: device.to_owned() })
    }
}

/// A link of the host with its device.
#[derive(Debug)]
pub(super) struct Attached {
    /// The link, an index into the plan's.
    pub(super) link: usize,
    /// The host's end of it.
    pub(super) end: usize,
    pub(super) device: Device,
    /// The device with the line: `device`, or the one below it if that is a VLAN.
    pub(super) port: Device,
    /// The VLAN tags that are added between the two.
    pub(super) tags: u64,
}

/// Finds the device of each link of the host with that number.
pub(super) fn attach(request: &Request<'_>, node: usize) -> Result<Vec<Attached>, Fault> {
    let plan = request.plan;
    let found = devices().map_err(|error| {
        Fault::lacking(format!("list the network devices: {error}"), "run it as root")
    })?;
    let mut links = Vec::new();
    for (number, link) in plan.links.iter().enumerate() {
        let ends = link.ends.iter().enumerate().filter(|(_, end)| end.node == node);
        links.extend(ends.map(|(end, _)| (number, end)));
    }
    check(request, &links)?;
    let only = links.len() == 1;
    let attach = |&(link, end): &(usize, usize)| {
        let name = &plan.links[link].name;
        let given = request.devices.iter().find(|option| match &option.link {
            Some(link) => link == name,
            None => only,
        });
        let device = match given {
            Some(option) => named(&found, &option.device)?,
            None if only => usual(&found, name)?,
            None => return Err(which(plan, &links, &found)),
        };
        let (port, tags) = below(&found, &device);
        Ok(Attached { link, end, device, port, tags })
    };
    links.iter().map(attach).collect()
}

/// The device that a VLAN device is of, and the number of tags; itself and none if it is not a VLAN, or if that device is in
/// another namespace.
fn below(found: &[Device], device: &Device) -> (Device, u64) {
    let (mut port, mut tags) = (device.clone(), 0);
    while let Some(index) = port.vlan_of() {
        let Some(lower) = found.iter().find(|lower| lower.index == index) else { break };
        port = lower.clone();
        tags += 1;
    }
    (port, tags)
}

/// Rejects options for links that the host does not have, and a second one for the same link.
fn check(request: &Request<'_>, links: &[(usize, usize)]) -> Result<(), Fault> {
    let names: Vec<&str> =
        links.iter().map(|&(link, _)| request.plan.links[link].name.as_str()).collect();
    let link_of = |option: &DeviceOption| match &option.link {
        Some(link) => link.clone(),
        None => names.first().map(|&only| only.to_owned()).unwrap_or_default(),
    };
    for (number, option) in request.devices.iter().enumerate() {
        let known = match &option.link {
            Some(link) => names.contains(&link.as_str()),
            None => names.len() == 1,
        };
        if !known {
            let device = &option.device;
            let message = match &option.link {
                Some(link) => format!("host `{}` has no link `{link}`", request.host),
                None => {
                    format!("host `{}` has {} links: which is {device}?", request.host, names.len())
                }
            };
            let help = format!("name one of its links: --device {}={device}", names.join("|"));
            return Err(Fault::usage(message, help));
        }
        let earlier = &request.devices[..number];
        if let Some(other) = earlier.iter().find(|other| link_of(other) == link_of(option)) {
            let (link, devices) =
                (link_of(option), [&other.device[..], &option.device].join(" and "));
            let message = format!("link `{link}` is given two devices: {devices}");
            return Err(Fault::usage(message, format!("keep one: --device {link}=DEVICE")));
        }
    }
    Ok(())
}

fn named(found: &[Device], name: &str) -> Result<Device, Fault> {
    found.iter().find(|device| device.name == name).cloned().ok_or_else(|| {
        let message = format!("this machine has no network device `{name}`");
        Fault::lacking(message, format!("choose one of: {}", listed(found)))
    })
}

/// The device of the default route, if there is one only.
fn usual(found: &[Device], link: &str) -> Result<Device, Fault> {
    let leads = |device: &&Device| {
        let routes = route::list(device.index).unwrap_or_default();
        routes.iter().any(|(route, _)| route.is_default())
    };
    match found.iter().filter(leads).collect::<Vec<_>>()[..] {
        [only] => Ok(only.clone()),
        ref several => {
            let message = match several.len() {
                0 => format!("no device has a default route: which one is link `{link}`?"),
                _ => format!("several devices have a default route: which one is link `{link}`?"),
            };
            let help = format!("--device {link}=DEVICE, with one of: {}", listed(found));
            Err(Fault::usage(message, help))
        }
    }
}

fn which(plan: &Plan, links: &[(usize, usize)], found: &[Device]) -> Fault {
    let options: Vec<String> = links
        .iter()
        .map(|&(link, _)| format!("--device {}=DEVICE", plan.links[link].name))
        .collect();
    let message = format!("the host has {} links: name the device of each", links.len());
    Fault::usage(message, format!("{}, with: {}", options.join(" "), listed(found)))
}

fn listed(found: &[Device]) -> String {
    let names: Vec<&str> = found.iter().map(|device| device.name.as_str()).collect();
    if names.is_empty() { "none is there".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_with_or_without_its_link() {
        let option = |text: &str| text.parse::<DeviceOption>();
        let named = DeviceOption { link: Some("wan".into()), device: "eth0".into() };
        assert_eq!(option("wan=eth0"), Ok(named));
        assert_eq!(option("eth0"), Ok(DeviceOption { link: None, device: "eth0".into() }));
        assert!(option("wan=").is_err() && option("=eth0").is_err());
    }
}
