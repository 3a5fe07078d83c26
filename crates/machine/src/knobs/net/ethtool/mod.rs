//! Knobs that are set for a network interface by ethtool's netlink family: one topic each.

mod value;

use crate::ethtool::{EthtoolState, Report, Topic};
use crate::knobs::file::{in_network, names};
use crate::knobs::{About, Knob, Target, no_such};
use crate::root::ETHTOOL;
use crate::{Act, Class, Fault, ReadError, Root};

const INTERFACES: &str = "/sys/class/net";

/// A knob that is one topic of ethtool's.
#[derive(Debug)]
pub struct EthtoolKnob {
    /// What it is.
    pub about: About,
    /// What is set.
    pub topic: Topic,
}

impl Knob for EthtoolKnob {
    fn about(&self) -> &About {
        &self.about
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        // Interfaces come and go, and the folder has files that are no interfaces (bonding_masters).
        let offers = |name: &String| report(root, name).is_ok_and(|report| self.is_offered(&report));
        let interfaces = names(root, INTERFACES)?.into_iter().filter(offers);
        Ok(interfaces.map(|id| Target { what: format!("network interface {id}"), id }).collect())
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        self.of(root, target, |report, _, _| match self.state(target, report)? {
            EthtoolState::Feature { active, .. } => Ok(if active { "on" } else { "off" }.into()),
            state => Ok(state.to_string()),
        })
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        self.of(root, target, |report, device, netns| {
            let state = self.state(target, report)?;
            let setting = value::Asked { knob: self, target, report, state: &state }.setting(value)?;
            let (device, netns) = (device.to_string(), netns.map(String::from));
            Ok(vec![Act::SetEthtool { device, netns, setting }])
        })
    }
}

impl EthtoolKnob {
    fn is_offered(&self, report: &Report) -> bool {
        let may_change = |topic| match topic {
            Topic::Feature(feature) => report.is_changeable(feature) == Some(true),
            _ => true,
        };
        may_change(self.topic) && report.state(self.topic).is_some()
    }

    /// Does something with what an interface reports, its name and that of its network namespace.
    fn of<T>(
        &self,
        root: &Root,
        target: &str,
        work: impl FnOnce(&Report, &str, Option<&str>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        in_network(&self.about, root, target, |root, device, netns| {
            if !names(root, INTERFACES)?.iter().any(|name| name == device) {
                return Err(no_such(&self.about, target, "there is no such interface"));
            }
            work(&report(root, device)?, device, netns)
        })
    }

    fn state(&self, target: &str, report: &Report) -> Result<EthtoolState, Fault> {
        report.state(self.topic).ok_or_else(|| {
            let cause = format!("its driver does not report it ({})", self.topic);
            let remedy = "leave it: this driver, or a kernel as old as this one, cannot change it";
            Fault::new(Class::MachineLacks, format!("{} of {target}", self.about.id), cause, remedy)
        })
    }
}

fn report(root: &Root, interface: &str) -> Result<Report, ReadError> {
    root.json_fact(&format!("{ETHTOOL}{interface}"))
}

#[cfg(test)]
mod tests;
