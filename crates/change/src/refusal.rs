//! What a refusal by the kernel means, and what the reader can do about it.

use std::io;
use std::path::Path;

use machine::{Act, Class, Fault, ProcessFile};

use crate::deed;

/// A fault for an act that the kernel refused.
pub fn refusal(act: &Act, error: &io::Error) -> Fault {
    let (class, meaning, remedy) = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => permission(act),
        Some(libc::ENOENT) if matches!(act, Act::JoinCgroup { .. }) => {
            (Class::MachineLacks, "the cgroup is not there", "create it first, or check the path")
        }
        Some(libc::ENOENT | libc::ESRCH) => (Class::MachineLacks, "it does not exist (any more)", gone(act)),
        _ => specific(act, error),
    };
    let cause = match meaning {
        "" => error.to_string(),
        _ => format!("{meaning} ({error})"),
    };
    Fault::new(class, deed::object(act), cause, remedy)
}

type Reading = (Class, &'static str, &'static str);

fn permission(act: &Act) -> Reading {
    let root =
        "run as root (or with CAP_SYS_NICE for processes of others, CAP_SYS_ADMIN for files and cgroups)";
    match act {
        Act::WriteFile { path, .. } if is_irq(path) && is_root() => {
            let remedy = "leave it: its driver spreads it over the CPUs; change the number of queues instead";
            (Class::MachineLacks, "the kernel manages this interrupt's CPUs itself", remedy)
        }
        Act::SetScheduling { .. } if is_root() => {
            let remedy = "give the cgroup real-time run time (cpu.rt_runtime_us), or move the process to the root cgroup";
            (
                Class::NotPermitted,
                "refused although root: RT_GROUP_SCHED without run time, or a container",
                remedy,
            )
        }
        Act::WriteFile { path, .. } if path.ends_with("intel_pstate/no_turbo") && is_root() => {
            (Class::MachineLacks, "firmware has switched turbo off", "switch it on in the firmware's setup")
        }
        Act::WriteProcessFile { file: ProcessFile::OomScoreAdj, .. } => (
            Class::NotPermitted,
            "only who has CAP_SYS_RESOURCE may protect a process better than it was",
            "run as root, or choose a higher value",
        ),
        Act::WriteProcessFile { file: ProcessFile::Autogroup, .. } => {
            (Class::NotPermitted, "values below 0 need CAP_SYS_NICE", "run as root, or choose 0 or more")
        }
        Act::SetEthtool { .. } => (
            Class::NotPermitted,
            "it needs CAP_NET_ADMIN in the network namespace of the interface",
            "run as root",
        ),
        Act::PinGuest { .. } => (
            Class::NotPermitted,
            "libvirt lets root and the members of its group place guests",
            "run as root",
        ),
        Act::SetIrqBan { .. } => (Class::NotPermitted, "irqbalance listens to root alone", "run as root"),
        Act::MakeNetnsPair { .. } => {
            (Class::NotPermitted, "network namespaces are for root to make", "run as root")
        }
        Act::MakeSwapFile { .. } | Act::SwapOn { .. } => {
            (Class::NotPermitted, "swap areas need CAP_SYS_ADMIN", "run as root, or leave server.swap_mb out")
        }
        _ => (Class::NotPermitted, "", root),
    }
}

fn gone(act: &Act) -> &'static str {
    match act {
        Act::WriteFile { netns: Some(_), .. } => {
            "check the name of the network namespace and of the device (ip netns)"
        }
        Act::WriteFile { .. } | Act::CreateCgroup { .. } => {
            "check the path: the device may have gone, or the kernel lacks it"
        }
        Act::SetEthtool { netns: Some(_), .. } => "check the name of the network namespace (ip netns)",
        Act::SetEthtool { .. } => "the kernel is older than 5.6, which has no such netlink family",
        Act::AttachPktgen { .. } => "load the generator: modprobe pktgen",
        Act::HoldLatency { .. } => "this kernel has no /dev/cpu_dma_latency (CONFIG_CPU_IDLE): leave it",
        Act::PinGuest { .. } => "the guest ended in the meantime, or was started again: try again",
        Act::SetIrqBan { .. } => "irqbalance ended in the meantime, or was started again: try again",
        _ => "the process ended in the meantime: nothing to do",
    }
}

fn specific(act: &Act, error: &io::Error) -> Reading {
    use Act::{
        AddBootWords, AttachPktgen, CreateCgroup, JoinCgroup, MakeNetnsPair, MakeSwapFile, MigratePages,
        PinGuest, PlaceFile, SetAffinity, SetEthtool, SetIoPriority, SetIrqBan, SetScheduling, SetUtilClamp,
        SwapOn, WriteFile, WriteProcessFile,
    };
    /// Of the kernel alone (include/linux/errno.h); it comes out of /proc/sys/kernel/nmi_watchdog.
    const ENOTSUPP: i32 = 524;
    match (act, error.raw_os_error()) {
        (WriteFile { path, .. }, Some(libc::EIO)) if is_irq(path) => {
            let remedy = "leave it: its driver spreads it over the CPUs; change the number of queues instead";
            (Class::MachineLacks, "the kernel manages this interrupt's CPUs itself", remedy)
        }
        (WriteFile { path, .. }, Some(libc::ENOSPC)) if is_irq(path) => (
            Class::MachineLacks,
            "no interrupt vector is free on that CPU",
            "name more CPUs, or move another interrupt away",
        ),
        (WriteFile { path, .. }, Some(libc::EINVAL | libc::EBUSY))
            if path.ends_with("sched_rt_runtime_us") =>
        {
            (
                Class::MachineLacks,
                "real-time groups or deadline threads have been promised more, or it exceeds sched_rt_period_us",
                "choose more, or lower cpu.rt_runtime_us of the cgroups first",
            )
        }
        (WriteFile { .. }, Some(libc::EINVAL | libc::ERANGE | libc::EOVERFLOW)) => (
            Class::Usage,
            "the kernel does not take this value",
            "check it against what the file reads, and that its CPUs are online",
        ),
        (WriteFile { path, .. }, Some(libc::EBUSY)) if path.ends_with("energy_performance_preference") => (
            Class::MachineLacks,
            "with the governor performance the kernel holds this at performance",
            "set the knob frequency-governor to another one first",
        ),
        (WriteFile { .. }, Some(libc::EBUSY)) => (
            Class::MachineLacks,
            "something else holds it at the moment",
            "see who owns it in docs/knobs.md, or try again",
        ),
        (WriteFile { .. }, Some(libc::EROFS)) => (
            Class::MachineLacks,
            "it is mounted read-only, as in a container",
            "run outside of the container",
        ),
        (WriteFile { .. }, Some(libc::EOPNOTSUPP | ENOTSUPP)) => (
            Class::MachineLacks,
            "this device, driver or CPU cannot do it",
            "leave it: the file is there for others of its kind",
        ),
        (WriteProcessFile { .. }, Some(libc::EAGAIN)) => (
            Class::MachineLacks,
            "the kernel takes ten changes of autogroups a second from all but root",
            "try again in a second",
        ),
        (SetIoPriority { .. }, Some(libc::EINVAL)) => (
            Class::Usage,
            "the kernel does not take this rank",
            "write none, idle, best-effort:0 to 7 or real-time:0 to 7",
        ),
        (SetUtilClamp { .. }, Some(libc::EOPNOTSUPP | libc::E2BIG)) => (
            Class::MachineLacks,
            "this kernel has no utilization clamps (CONFIG_UCLAMP_TASK)",
            "use the knobs frequency-min or frequency-governor",
        ),
        (SetUtilClamp { .. }, Some(libc::EINVAL | libc::ERANGE)) => (
            Class::Usage,
            "the kernel does not take these clamps",
            "write MIN-MAX with MIN not above MAX, and both within 0 to 1024",
        ),
        (SetAffinity { .. }, Some(libc::EINVAL)) => {
            let meaning = "none of these CPUs is online and allowed, or the kernel pins this thread itself (PF_NO_SETAFFINITY)";
            (
                Class::MachineLacks,
                meaning,
                "choose from Cpus_allowed_list of its cgroup (cpuset); leave per-CPU kernel threads",
            )
        }
        (SetScheduling { .. }, Some(libc::EINVAL)) => (
            Class::Usage,
            "the kernel does not take this priority",
            "priority 1 to 99 for fifo and rr, nice -20 to 19 for others",
        ),
        (MigratePages { .. }, Some(libc::EINVAL)) => (
            Class::MachineLacks,
            "none of these nodes is online, has memory and is allowed to pinwise itself (cpuset.mems of its cgroup)",
            "choose from Mems_allowed_list of /proc/self/status, or run outside of the container",
        ),
        (JoinCgroup { .. }, Some(libc::ENOSPC)) => (
            Class::MachineLacks,
            "the cgroup has no CPUs or no memory nodes",
            "write cpuset.cpus and cpuset.mems first",
        ),
        (CreateCgroup { .. }, Some(libc::EROFS)) => (
            Class::MachineLacks,
            "the cgroup tree is read-only, as in a container",
            "run outside of the container",
        ),
        (AttachPktgen { orders, .. }, Some(libc::EIO | libc::EOPNOTSUPP | ENOTSUPP))
            if orders.iter().any(|order| order.starts_with("clone_skb") && order != "clone_skb 0") =>
        {
            (
                Class::MachineLacks,
                "the interface cannot send one packet many times",
                "take clone_skb = 0, or an interface that can: a dummy one, most cards; veth and bridges cannot",
            )
        }
        (AttachPktgen { .. }, Some(libc::ENODEV | libc::EINVAL)) => (
            Class::MachineLacks,
            "there is no such interface, or pktgen does not take it",
            "see 'ip link'; the kernel's log may tell more",
        ),
        (AttachPktgen { .. }, Some(libc::ENETDOWN)) => {
            (Class::MachineLacks, "the interface is down", "ip link set DEVICE up")
        }
        (MakeNetnsPair { .. }, _) if error.kind() == io::ErrorKind::Unsupported => {
            (Class::MachineLacks, "", "install it: apt install iproute2")
        }
        (MakeNetnsPair { .. }, _) => (
            Class::MachineLacks,
            "",
            "check that the kernel has veth devices (modprobe veth) and that this is no container without CAP_SYS_ADMIN",
        ),
        (PlaceFile { .. }, Some(libc::EROFS)) => (
            Class::MachineLacks,
            "/etc is read-only, as in an image-based system or a container",
            "put the setting into the image, or into what makes the container",
        ),
        (MakeSwapFile { .. }, _) if error.kind() == io::ErrorKind::StorageFull => {
            (Class::Storage, "", "free some space, or name a folder that has more (server.swap_dir)")
        }
        (MakeSwapFile { .. }, _) => (Class::Storage, "", "name another folder (server.swap_dir)"),
        (SwapOn { .. }, Some(libc::EINVAL)) => (
            Class::MachineLacks,
            "this file system takes no swap files, or none that share or compress their blocks",
            "name a folder on ext4 or xfs (server.swap_dir)",
        ),
        (SwapOn { .. }, Some(libc::ENOMEM)) => (
            Class::MachineLacks,
            "there is no memory to bring back what lies there",
            "end what uses it, and try again",
        ),
        (PlaceFile { .. }, _) => (Class::Storage, "", "mend the cause; nothing is left of the file"),
        (AddBootWords { .. }, _) => (
            Class::Storage,
            "",
            "mend the cause, and run 'pinwise undo': some entries may have the words already",
        ),
        (SetEthtool { .. }, Some(libc::ENODEV)) => (
            Class::MachineLacks,
            "there is no such interface (any more)",
            "check its name and that of its network namespace (ip link)",
        ),
        (SetEthtool { .. }, Some(libc::EOPNOTSUPP | ENOTSUPP)) => (
            Class::MachineLacks,
            "the interface's driver cannot do it, or not all of it",
            "name only what 'ethtool -l', '-c' and '-k' show of it, or leave it",
        ),
        (SetEthtool { .. }, Some(libc::EINVAL | libc::ERANGE)) => (
            Class::Usage,
            "the driver does not take these values (together)",
            "set an adaptive switch off before its figures; for channels see RSS tables and XDP programs; the kernel log may tell",
        ),
        (SetEthtool { .. }, Some(libc::EBUSY | libc::EAGAIN)) => (
            Class::MachineLacks,
            "the driver cannot do it at the moment: its link is up, it is being reset, or something holds its queues (XDP)",
            "see what is attached with 'ip -d link'; some drivers take it only with the link down (ip link set DEVICE down)",
        ),
        (PinGuest { .. }, _) => guest(act, error),
        (SetIrqBan { .. }, _) if error.kind() == io::ErrorKind::InvalidInput => (
            Class::MachineLacks,
            "",
            "name fewer, or start irqbalance with --banmod for the driver of these lines (IRQBALANCE_ARGS in its settings)",
        ),
        (SetIrqBan { .. }, _) => (
            Class::MachineLacks,
            "",
            "see what irqbalance does (journalctl -u irqbalance), or stop it: systemctl stop irqbalance",
        ),
        _ if error.kind() == io::ErrorKind::Unsupported => {
            (Class::MachineLacks, "", "leave it: it could not be put back exactly")
        }
        _ => (Class::MachineLacks, "", "see the kernel's documentation of this file or call"),
    }
}

/// What virsh or libvirt says, which has no number.
fn guest(act: &Act, error: &io::Error) -> Reading {
    match error.kind() {
        io::ErrorKind::PermissionDenied => permission(act),
        io::ErrorKind::NotFound => (
            Class::MachineLacks,
            "libvirt has no such guest, or no definition of it that lasts",
            "see 'virsh list --all'; a transient guest is placed where it is created",
        ),
        io::ErrorKind::Unsupported => (
            Class::MachineLacks,
            "",
            "install it (libvirt-clients, libvirt-client): libvirt runs this guest, and has to be told",
        ),
        _ => (Class::MachineLacks, "", "see whether libvirt runs and answers: virsh -c qemu:///system list"),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn is_irq(path: &Path) -> bool {
    path.starts_with("/proc/irq")
}
