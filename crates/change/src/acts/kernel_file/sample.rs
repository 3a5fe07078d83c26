//! Samples of files that are written.

use std::path::{Path, PathBuf};

use libc::{
    E2BIG, EAGAIN, EBUSY, EEXIST, EINVAL, EIO, ENETDOWN, ENODEV, ENOENT, ENOSPC, ENOSYS, ENOTDIR, ENXIO,
    EOPNOTSUPP, EOVERFLOW, ERANGE, EROFS, ESRCH, ETIMEDOUT,
};
use machine::Act;

use super::KernelFile;
use crate::acts::cgroup_creation::sample as cgroup;
use crate::acts::samples::{ENOTSUPP, InPart, Machine, Sampled, alter};
use crate::kernel::EmulatedKernel;
use crate::kernel::emulated::EmulatedState;

const RPS: &str = "/sys/class/net/eth0/queues/rx-0/rps_cpus";
const HUGE_PAGES: &str = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
const IRQ: &str = "/proc/irq/38/smp_affinity_list";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Writes a value to a file, in a network namespace where one is named.
pub fn write(path: &str, value: &str, netns: Option<&str>) -> Act {
    Act::WriteFile { path: path.into(), value: value.into(), netns: netns.map(String::from) }
}

/// Files of devices, of interrupts, of the whole machine, one with a twin, and one that the kernel may write in part.
pub fn acts(machine: &Machine) -> Vec<Act> {
    let kernel = &machine.kernel;
    kernel.add_file(RPS, "00000000,00000000\n");
    kernel.add_file_in(Some("box"), RPS, "0\n");
    kernel.add_file(IRQ, "0-3\n");
    kernel.add_file(THP, "always [madvise] never\n");
    kernel.add_file("/proc/sys/vm/dirty_ratio", "20\n");
    kernel.add_file("/proc/sys/vm/dirty_bytes", "0\n");
    kernel.add_file(HUGE_PAGES, "0\n");
    vec![
        write(RPS, "3", None),
        write(RPS, "2", Some("box")),
        write(IRQ, "1", None),
        write(THP, "never", None),
        write("/proc/sys/vm/dirty_bytes", "4096000", None),
        write(HUGE_PAGES, "64", None),
    ]
}

impl KernelFile<'_> {
    /// The file on the emulated machine.
    fn key(&self) -> (Option<String>, PathBuf) {
        (self.netns.map(String::from), self.path.to_path_buf())
    }

    fn is_of_interface(&self) -> bool {
        self.path.starts_with("/sys/class/net")
    }
}

impl Sampled for KernelFile<'_> {
    fn variety(&self) -> Option<String> {
        let within = self.netns.map_or("", |_| " in another network namespace");
        Some(format!("`{}`{within}", self.path.display()))
    }

    /// Every file has a handler of its own: kernel/irq/proc.c, drivers/cpufreq, mm, net/core, kernel/cgroup.
    fn errnos(&self) -> &'static [i32] {
        &[
            E2BIG, EAGAIN, EBUSY, EEXIST, EINVAL, EIO, ENETDOWN, ENODEV, ENOENT, ENOSPC, ENOSYS, ENOTDIR,
            ENXIO, EOPNOTSUPP, ENOTSUPP, EOVERFLOW, ERANGE, EROFS, ESRCH, ETIMEDOUT,
        ]
    }

    fn prepare(&self, state: &mut EmulatedState) {
        if self.path.starts_with(cgroup::CGROUP) {
            cgroup::make(state);
        }
    }

    fn in_part(&self) -> Option<InPart> {
        let is_huge_pages = self.path == Path::new(HUGE_PAGES);
        is_huge_pages.then(|| InPart { path: self.path.to_path_buf(), done: "17\n", undone: "0\n" })
    }

    fn is_renamed_with_interface(&self) -> bool {
        self.is_of_interface()
    }

    fn change_by_others(&self, state: &mut EmulatedState) -> bool {
        let other = match self.path {
            path if path.ends_with("enabled") => "[always] madvise never\n",
            path if path.ends_with("cpuset.cpus") || path.ends_with("smp_affinity_list") => "2-3\n",
            _ => "8\n",
        };
        state.files.insert(self.key(), other.into());
        true
    }

    fn remove(&self, kernel: &EmulatedKernel) -> bool {
        match self.path {
            _ if self.is_of_interface() => {
                kernel.remove_interface(self.netns, "eth0");
                true
            }
            path if path.starts_with("/proc/sys") => false,
            _ => alter(kernel, |state| {
                state.files.remove(&self.key());
            }),
        }
    }
}
