//! Which program it is, whatever its process is called.

use serde::{Deserialize, Serialize};

/// A program that sets where things run, or how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the name of a program says it")]
pub enum OwnerId {
    Ananicy,
    AutoCpufreq,
    Containerd,
    CriO,
    Docker,
    IntelLpmd,
    Irqbalance,
    /// The agent of Katalyst on a node.
    KatalystAgent,
    /// The agent of Koordinator on a node.
    Koordlet,
    Ksmtuned,
    Kubelet,
    Libvirtd,
    #[serde(rename = "networkmanager")]
    NetworkManager,
    /// The plugins of the Node Resource Interface that place containers: balloons and topology-aware.
    NriResourcePolicy,
    Numad,
    #[serde(rename = "open-vswitch")]
    OpenVSwitch,
    PowerProfilesDaemon,
    Rtkit,
    /// A scheduler that is loaded as a BPF program; it has no process.
    SchedExt,
    Slurmd,
    Systemd,
    Thermald,
    Tuna,
    Tuned,
    Virtqemud,
}
