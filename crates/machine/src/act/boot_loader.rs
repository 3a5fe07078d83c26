//! Boot loaders whose entries hold command lines that no file of ours can add to: a tool of the platform's changes them.

use serde::{Deserialize, Serialize};

use crate::Root;

/// The tool that changes the command lines of a boot loader's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootLoader {
    /// grubby(8) of Fedora, RHEL and their kin: it changes each entry in place, whether GRUB's own or one of the Boot Loader
    /// Specification, and what new kernels get.
    Grubby,
    /// kernel-install(8) of systemd: it makes entries of the Boot Loader Specification anew from /etc/kernel/cmdline.
    KernelInstall,
}

/// The command line of which kernel-install makes entries, where there is such a file; else it takes that of the running kernel.
pub const COMMAND_LINE: &str = "/etc/kernel/cmdline";

/// Where the partition of the entries may be mounted, in the order in which kernel-install looks.
pub const BOOT_FOLDERS: [&str; 3] = ["/efi", "/boot", "/boot/efi"];

const GRUBBY: [&str; 2] = ["/usr/sbin/grubby", "/usr/bin/grubby"];
const KERNEL_INSTALL: [&str; 2] = ["/usr/bin/kernel-install", "/bin/kernel-install"];

impl BootLoader {
    /// The one of a system; grubby before kernel-install, for it looks after the other's file as well. `None` when neither has entries
    /// here, or they may not be read.
    pub fn of(root: &Root) -> Option<Self> {
        let has = |paths: &[&str]| paths.iter().any(|path| root.exists(path));
        match (has(&GRUBBY), has(&KERNEL_INSTALL)) {
            (true, _) => Some(Self::Grubby),
            (_, true) if has_entries(root) => Some(Self::KernelInstall),
            _ => None,
        }
    }
}

fn has_entries(root: &Root) -> bool {
    let is_entry = |name: &String| name.ends_with(".conf");
    BOOT_FOLDERS.iter().any(|folder| {
        root.list(format!("{folder}/loader/entries")).is_ok_and(|names| names.iter().any(is_entry))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn a_tool_without_entries_is_none() {
        let of = |tree: Tree| BootLoader::of(&Root::from_tree(tree));
        let installed = || Tree::new().file("/usr/bin/kernel-install", "");
        assert_eq!(of(installed()), None);
        let with_entries = || installed().file("/boot/loader/entries/debian-6.1.conf", "version 6.1\n");
        assert_eq!(of(with_entries()), Some(BootLoader::KernelInstall));
        assert_eq!(of(with_entries().file("/usr/sbin/grubby", "")), Some(BootLoader::Grubby));
    }
}
