//! What decides which object an act means.

use std::path::{Component, Path, PathBuf};

/// What decides which object the words of an act mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// The machine: there is one such file, whoever looks.
    Machine,
    /// The PID namespace.
    Processes,
    /// The root directory.
    Files,
    /// The cgroup namespace and the mount, with the directory of the cgroup.
    Cgroup(&'a Path),
    /// The network namespace, with the name of an interface.
    Network(Option<&'a str>),
    /// An interrupt line of this number.
    Line(u32),
    /// The disk of this name.
    Disk(&'a str),
}

/// What decides which file of the kernel a path means.
pub fn of_path(path: &Path) -> Scope<'_> {
    let names: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    match names[..] {
        ["sys", "fs", "cgroup", ..] => path.parent().map_or(Scope::Machine, Scope::Cgroup),
        ["sys", "class", "net", interface, ..] => Scope::Network(Some(interface)),
        ["proc", "sys", "net", _, "conf" | "neigh", interface, ..]
            if !matches!(interface, "all" | "default") =>
        {
            Scope::Network(Some(interface))
        }
        ["proc", "sys", "net", ..] | ["proc", "net", ..] => Scope::Network(None),
        ["proc", "irq", number, _, ..] => number.parse().map_or(Scope::Machine, Scope::Line),
        ["sys", "block", disk, _, ..] => Scope::Disk(disk),
        _ => Scope::Machine,
    }
}

/// The path of the same file of an interface that has been renamed.
pub fn with_interface(path: &Path, old: &str, new: &str) -> PathBuf {
    match of_path(path) {
        Scope::Network(Some(name)) if name == old => {
            path.iter().map(|part| if part == old { new.as_ref() } else { part }).collect()
        }
        _ => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Scope<'_> {
        of_path(Path::new(path))
    }

    #[test]
    fn a_path_says_what_decides_which_file_it_means() {
        assert_eq!(of("/sys/class/net/eth0/queues/rx-0/rps_cpus"), Scope::Network(Some("eth0")));
        assert_eq!(of("/proc/sys/net/ipv4/conf/eth0/forwarding"), Scope::Network(Some("eth0")));
        assert_eq!(of("/proc/sys/net/ipv4/conf/all/forwarding"), Scope::Network(None));
        assert_eq!(of("/proc/sys/net/core/busy_poll"), Scope::Network(None));
        assert_eq!(of("/proc/irq/38/smp_affinity_list"), Scope::Line(38));
        assert_eq!(of("/proc/irq/default_smp_affinity"), Scope::Machine);
        assert_eq!(of("/sys/block/sda/queue/rq_affinity"), Scope::Disk("sda"));
        assert_eq!(of("/sys/fs/cgroup/a/cpu.max"), Scope::Cgroup(Path::new("/sys/fs/cgroup/a")));
        assert_eq!(of("/proc/sys/vm/swappiness"), Scope::Machine);
    }

    #[test]
    fn a_renamed_interface_is_followed_in_its_paths_and_in_no_others() {
        let renamed = |path: &str| with_interface(Path::new(path), "eth0", "lan0");
        assert_eq!(
            renamed("/sys/class/net/eth0/queues/rx-0/rps_cpus"),
            Path::new("/sys/class/net/lan0/queues/rx-0/rps_cpus")
        );
        assert_eq!(
            renamed("/proc/sys/net/ipv6/conf/eth0/mtu"),
            Path::new("/proc/sys/net/ipv6/conf/lan0/mtu")
        );
        assert_eq!(renamed("/sys/class/net/eth1/mtu"), Path::new("/sys/class/net/eth1/mtu"));
    }
}
