//! Something of a network interface, by ethtool's netlink family (Documentation/networking/ethtool-netlink.rst).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use machine::{Act, EthtoolSetting, EthtoolState};

use super::operation::refusal::{ENOTSUPP, Refusal, is_missing, is_permission};
use super::{Operation, is_path_gone, unfit, within};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

/// Has a driver set something.
pub struct DriverSetting<'a> {
    pub device: &'a str,
    pub netns: Option<&'a str>,
    pub setting: &'a EthtoolSetting,
}

fn state(value: &Value) -> Option<&EthtoolState> {
    match value {
        Value::Ethtool(state) => Some(state),
        _ => None,
    }
}

/// Whether each figure that was asked for is what it was, what was asked, or between the two, and all others are as they were: drivers
/// set one after the other, and some in steps.
fn lies_between<K: Ord>(old: &BTreeMap<K, u32>, asked: &BTreeMap<K, u32>, now: &BTreeMap<K, u32>) -> bool {
    now.len() == old.len()
        && now.iter().all(|(key, now)| match (old.get(key), asked.get(key)) {
            (Some(old), Some(asked)) => (old.min(asked)..=old.max(asked)).contains(&now),
            (Some(old), None) => old == now,
            (None, _) => false,
        })
}

impl Operation for DriverSetting<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Network(Some(self.device))
    }

    fn netns(&self) -> Option<&str> {
        self.netns
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::SetEthtool { device, netns, setting }
            if (device.as_str(), netns.as_deref(), setting.topic())
                == (self.device, self.netns, self.setting.topic()))
    }

    fn moved(&self, renamed: Option<(&str, &str)>) -> Option<Act> {
        let device = renamed.map_or(self.device, |(_, new)| new).to_string();
        Some(Act::SetEthtool { device, netns: None, setting: self.setting.clone() })
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::Ethtool(kernel.ethtool(self.device, self.netns, self.setting.topic())?))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.set_ethtool(self.device, self.netns, self.setting)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, now: &Value) -> io::Result<()> {
        let restoring = state(old).zip(state(now)).and_then(|(old, now)| self.setting.restoring(old, now));
        kernel.set_ethtool(self.device, self.netns, &restoring.ok_or_else(unfit)?)
    }

    fn same(&self, a: &Value, b: &Value) -> bool {
        state(a).zip(state(b)).map_or(a == b, |(a, b)| a.means(b))
    }

    fn took_effect(&self, now: &Value) -> bool {
        state(now).is_some_and(|now| self.setting.is_in_force(now))
    }

    fn may_be_ours(&self, old: &Value, now: &Value) -> bool {
        if self.took_effect(now) {
            return true;
        }
        match (state(old), self.setting, state(now)) {
            (
                Some(EthtoolState::Channels { counts: old }),
                EthtoolSetting::Channels { counts },
                Some(EthtoolState::Channels { counts: now }),
            ) => lies_between(old, counts, now),
            (
                Some(EthtoolState::Coalescing { figures: old }),
                EthtoolSetting::Coalescing { figures },
                Some(EthtoolState::Coalescing { figures: now }),
            ) => lies_between(old, figures, now),
            _ => false,
        }
    }

    fn is_gone(&self, kernel: &dyn Kernel, error: &io::Error) -> io::Result<bool> {
        is_path_gone(kernel, error, &Path::new("/sys/class/net").join(self.device), self.netns)
    }

    fn object(&self) -> String {
        let within = self.netns.map(|netns| format!(" in {netns}")).unwrap_or_default();
        format!("{} of {}{within}", self.setting.topic(), self.device)
    }

    fn asked(&self) -> String {
        self.setting.to_string()
    }

    fn call(&self) -> String {
        let (topic, device, within) = (self.setting.topic(), self.device, within(self.netns));
        format!("set {topic} of {device} to {} by ethtool{within}", self.setting)
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        Some(match error.raw_os_error() {
            _ if is_permission(error) => Refusal::permission(
                "it needs CAP_NET_ADMIN in the network namespace of the interface",
                "run as root",
            ),
            _ if is_missing(error) => Refusal::unavailable(
                "it does not exist (any more)",
                match self.netns {
                    Some(_) => "check the name of the network namespace (ip netns)",
                    None => "the kernel is older than 5.6, which has no such netlink family",
                },
            ),
            Some(libc::ENODEV) => Refusal::unavailable(
                "there is no such interface (any more)",
                "check its name and that of its network namespace (ip link)",
            ),
            Some(libc::EOPNOTSUPP | ENOTSUPP) => Refusal::unavailable(
                "the interface's driver cannot do it, or not all of it",
                "name only what 'ethtool -l', '-c' and '-k' show of it, or leave it out",
            ),
            Some(libc::EINVAL | libc::ERANGE) => Refusal::usage(
                "the driver does not take these values (together)",
                "switch adaptive coalescing off before setting its figures; for channels, check RSS tables and XDP; the kernel log may say why",
            ),
            Some(libc::EBUSY | libc::EAGAIN) => Refusal::unavailable(
                "the driver cannot do it at the moment: its link is up, it is being reset, or something holds its queues (XDP)",
                "see what is attached with 'ip -d link'; some drivers take it only with the link down (ip link set DEVICE down)",
            ),
            _ => return None,
        })
    }
}

/// Every topic, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use std::collections::BTreeMap;

    use libc::{EAGAIN, EBUSY, EINVAL, EIO, ENETDOWN, ENODEV, ENOENT, ENOSPC, EOPNOTSUPP, ERANGE, ETIMEDOUT};
    use machine::ethtool::{ChannelKind, Feature, Figure, Topic};
    use machine::{Act, EthtoolSetting, EthtoolState};

    use super::DriverSetting;
    use crate::acts::samples::{ENOTSUPP, Machine, Sampled, alter};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// Each topic once.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        let channels = |combined: u32| BTreeMap::from([(ChannelKind::Combined, combined)]);
        let coalescing = |us: u32| BTreeMap::from([(Figure::RxUsecs, us)]);
        let feature = Feature::Gro;
        let now = [
            (Topic::Channels, EthtoolState::Channels { counts: channels(4) }),
            (Topic::Coalescing, EthtoolState::Coalescing { figures: coalescing(3) }),
            (Topic::Feature(feature), EthtoolState::Feature { wanted: true, active: true }),
        ];
        for (topic, state) in now {
            machine.kernel.add_ethtool(None, "eth0", topic, state);
        }
        let settings = [
            EthtoolSetting::Channels { counts: channels(2) },
            EthtoolSetting::Coalescing { figures: coalescing(50) },
            EthtoolSetting::Feature { feature, on: false },
        ];
        let act = |setting| Act::SetEthtool { device: "eth0".into(), netns: None, setting };
        settings.into_iter().map(act).collect()
    }

    impl Sampled for DriverSetting<'_> {
        fn variety(&self) -> Option<String> {
            Some(self.setting.topic().to_string())
        }

        /// net/ethtool, and drivers.
        fn errnos(&self) -> &'static [i32] {
            &[
                EAGAIN, EBUSY, EINVAL, EIO, ENETDOWN, ENODEV, ENOENT, ENOSPC, EOPNOTSUPP, ENOTSUPP, ERANGE,
                ETIMEDOUT,
            ]
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            let other = match self.setting.topic() {
                Topic::Channels => EthtoolState::Channels { counts: [(ChannelKind::Combined, 1)].into() },
                Topic::Coalescing => EthtoolState::Coalescing { figures: [(Figure::RxUsecs, 200)].into() },
                // A switch has two places.
                Topic::Feature(_) => return false,
            };
            let netns = self.netns.map(String::from);
            state.ethtool.insert((netns, self.device.to_string(), self.setting.topic()), other);
            true
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            kernel.remove_interface(self.netns, self.device);
            alter(kernel, |state| state.ethtool.retain(|(_, device, _), _| device != self.device))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(of: &[(&'static str, u32)]) -> BTreeMap<&'static str, u32> {
        of.iter().copied().collect()
    }

    #[test]
    fn what_a_driver_has_done_in_part_lies_between_and_an_administrators_value_may_not() {
        let (old, asked) =
            (figures(&[("rx", 3), ("tx", 9), ("frames", 1)]), figures(&[("rx", 50), ("tx", 50)]));
        let now = |of: &[(&'static str, u32)]| lies_between(&old, &asked, &figures(of));
        assert!(now(&[("rx", 50), ("tx", 9), ("frames", 1)]), "the first of two");
        assert!(now(&[("rx", 32), ("tx", 50), ("frames", 1)]), "in steps");
        assert!(!now(&[("rx", 51), ("tx", 9), ("frames", 1)]), "beyond what was requested");
        assert!(!now(&[("rx", 50), ("tx", 9), ("frames", 2)]), "nobody of us has touched that");
    }
}
