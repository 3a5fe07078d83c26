//! Files that the platform reads by itself: at boot, when a device appears, when a unit starts.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A file of pinwise's own among those that the platform reads. A closed set, whose names distinguish it from all others: what somebody
/// else wrote is never touched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum PlatformFile {
    /// Kernel settings below /proc/sys, at boot (sysctl.d(5)).
    Sysctl {
        /// The session that it belongs to.
        session: String,
    },
    /// Files below /sys and /proc, at boot (tmpfiles.d(5)).
    Tmpfiles {
        /// The session that it belongs to.
        session: String,
    },
    /// Attributes of a device, when it appears (udev(7)).
    Udev {
        /// The session that it belongs to.
        session: String,
    },
    /// Settings of a unit, when it starts (systemd.unit(5)).
    UnitDropIn {
        /// The session that it belongs to.
        session: String,
        /// Name of the unit, with its kind.
        unit: String,
    },
    /// How a service is started, from its next start on (systemd.unit(5)). There is one of each aspect, so that no two sessions say
    /// different things of it.
    UnitStart {
        /// Name of the service, with its kind.
        unit: String,
        /// What of the start.
        aspect: Aspect,
    },
    /// Parameters of the kernel, when the boot loader starts it: a file that update-grub reads. There is one of it, so that no two
    /// sessions name the same parameter.
    GrubDefaults,
    /// A service that goes on with a study after a reboot. There is one of it, since one study at a time reboots the machine.
    ResumeUnit,
    /// A profile that tuned offers (tuned.conf(5)).
    TunedProfile {
        /// The session that it belongs to.
        session: String,
        /// Whether profiles lie in a folder of their own (since tuned 2.23).
        in_profiles: bool,
    },
}

/// What of a service's start a file is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// The environment.
    Environment,
    /// The command.
    Command,
    /// The nodes that memory comes from.
    Memory,
}

impl Aspect {
    fn name(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Command => "command",
            Self::Memory => "memory",
        }
    }
}

/// The service that goes on with a study.
pub const RESUME_UNIT: &str = "pinwise-resume.service";

/// First line of those that a knob itself asks for, which belong to no session by name.
pub const HEAD: &str = "# Placed by pinwise, removed by: pinwise undo\n";

/// Who has to be notified when a file came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notified {
    /// Nobody: whoever reads it does so anew each time.
    Nobody,
    /// systemd: `systemctl daemon-reload`.
    Systemd,
    /// The boot loader's configuration is made anew: `update-grub`.
    BootLoader,
}

impl PlatformFile {
    /// Where it lies: so that it wins over the files of others, which is the last name everywhere but in tmpfiles.d, where it is the
    /// first. `None` when a name in it is none that a session or a unit can have, as in a damaged ledger.
    pub fn path(&self) -> Option<PathBuf> {
        let path = match self {
            Self::Sysctl { session } => {
                format!("/etc/sysctl.d/99-zz-pinwise-{}.conf", of_session(session)?)
            }
            Self::Tmpfiles { session } => {
                format!("/etc/tmpfiles.d/00-pinwise-{}.conf", of_session(session)?)
            }
            Self::Udev { session } => {
                format!("/etc/udev/rules.d/99-zz-pinwise-{}.rules", of_session(session)?)
            }
            Self::UnitDropIn { session, unit } => {
                format!("/etc/systemd/system/{}.d/zz-pinwise-{}.conf", of_unit(unit)?, of_session(session)?)
            }
            Self::UnitStart { unit, aspect } => {
                format!("/etc/systemd/system/{}.d/zz-pinwise-{}.conf", of_unit(unit)?, aspect.name())
            }
            Self::GrubDefaults => "/etc/default/grub.d/zz-pinwise.cfg".into(),
            Self::ResumeUnit => format!("/etc/systemd/system/{RESUME_UNIT}"),
            Self::TunedProfile { session, in_profiles } => {
                let folder = if *in_profiles { "/etc/tuned/profiles" } else { "/etc/tuned" };
                format!("{folder}/pinwise-{}/tuned.conf", of_session(session)?)
            }
        };
        Some(path.into())
    }

    /// Who has to be notified when it comes or goes.
    pub fn notified(&self) -> Notified {
        match self {
            Self::UnitDropIn { .. } | Self::UnitStart { .. } | Self::ResumeUnit => Notified::Systemd,
            Self::GrubDefaults => Notified::BootLoader,
            _ => Notified::Nobody,
        }
    }

    /// When what is in it takes effect.
    pub fn takes_effect(&self) -> &'static str {
        match self {
            Self::Sysctl { .. } | Self::Tmpfiles { .. } => "at each start of the machine",
            Self::Udev { .. } => "whenever the device appears",
            Self::UnitDropIn { .. } | Self::UnitStart { .. } => "whenever the unit starts",
            Self::GrubDefaults => "from the next start of the machine on",
            Self::ResumeUnit => "when a target that wants it is reached",
            Self::TunedProfile { .. } => "once tuned uses it",
        }
    }
}

/// Sessions are `SECONDS-PID` or `SECONDS-PID-NUMBER`.
fn of_session(name: &str) -> Option<&str> {
    let plain = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    (plain && !name.is_empty()).then_some(name)
}

/// The letters of a unit's name, by systemd.unit(5).
fn of_unit(name: &str) -> Option<&str> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte));
    (plain && name.contains('.') && !name.starts_with('.') && !name.ends_with('.')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_have_no_path() {
        let session = || "1763700000-4711".to_string();
        let path = PlatformFile::Sysctl { session: session() }.path().unwrap();
        assert_eq!(path.to_str().unwrap(), "/etc/sysctl.d/99-zz-pinwise-1763700000-4711.conf");
        let of = |unit: &str| PlatformFile::UnitDropIn { session: session(), unit: unit.into() }.path();
        let path = of("getty@tty1.service").unwrap();
        assert_eq!(
            path.to_str().unwrap(),
            "/etc/systemd/system/getty@tty1.service.d/zz-pinwise-1763700000-4711.conf"
        );
        assert_eq!((of("../../x.service"), of("nginx"), of("")), (None, None, None));
        for session in ["../x", "", "a"] {
            assert_eq!(PlatformFile::Udev { session: session.into() }.path(), None);
        }
    }
}
