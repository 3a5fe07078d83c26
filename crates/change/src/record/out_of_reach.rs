//! Why something cannot be reached from where an undo stands.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why something cannot be reached from here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum OutOfReach {
    /// It is a process of another PID (or time) namespace.
    Processes {
        /// The namespace's inode number.
        namespace: u64,
        /// A process in it that can be seen from here.
        by: Option<u32>,
    },
    /// It is a file under another root directory.
    Files,
    /// It is a cgroup as seen from another cgroup or mount namespace.
    Cgroups {
        /// The mount namespace's inode number.
        mounts: u64,
    },
    /// It is in a network namespace that nothing leads to, and whether that has ended the kernel does not report.
    Network {
        /// The namespace's inode number.
        namespace: u64,
    },
    /// It is an interface that has been moved to another network namespace.
    InterfaceMoved {
        /// Its name there.
        name: String,
        /// Inode number of the namespace.
        namespace: u64,
    },
    /// Where this undo stands cannot be determined.
    Ground {
        /// Why.
        why: String,
    },
}

impl fmt::Display for OutOfReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes { namespace, by } => {
                write!(f, "the process belongs to another PID namespace, pid:[{namespace}]")?;
                by.map_or(Ok(()), |pid| write!(f, " (that of process {pid})"))
            }
            Self::Files => f.write_str("the file is one of another root directory (a chroot or a container)"),
            Self::Cgroups { mounts } => {
                write!(f, "the cgroup is one of another mount namespace, mnt:[{mounts}]")
            }
            Self::Network { namespace } => {
                write!(
                    f,
                    "no process and no name leads to its network namespace, net:[{namespace}], and whether it has ended is not known"
                )
            }
            Self::InterfaceMoved { name, namespace } => {
                write!(f, "the interface is now {name} in another network namespace, net:[{namespace}]")
            }
            Self::Ground { why } => write!(f, "where this process stands cannot be determined: {why}"),
        }
    }
}

impl OutOfReach {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        let or_leave = "or give it up: pinwise undo --force --session ID";
        match self {
            Self::Processes { by: Some(pid), .. } => {
                format!("run it there: nsenter --target {pid} --all pinwise undo; {or_leave}")
            }
            Self::Processes { by: None, .. } | Self::Files | Self::Cgroups { .. } => {
                format!(
                    "run 'pinwise undo' where the change was made: on the host, or in that container; {or_leave}"
                )
            }
            Self::Network { .. } => format!("run 'pinwise undo' where the change was made; {or_leave}"),
            Self::InterfaceMoved { .. } => {
                format!("move it back (ip link set NAME netns ...) and run 'pinwise undo' again; {or_leave}")
            }
            Self::Ground { .. } => {
                format!(
                    "run 'pinwise undo' where /proc is mounted and shows this PID namespace (in a container: with its mounts, nsenter \
                    --target PID --all); {or_leave}"
                )
            }
        }
    }
}
