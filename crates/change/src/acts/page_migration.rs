//! The nodes on which a process's memory lies (migrate_pages(2), move_pages(2)).

use std::io;

use machine::{Act, CpuSet, ProcessRef, ThreadRef};

use super::operation::refusal::{Refusal, is_root};
use super::{Operation, first_thread, unfit};
use crate::kernel::Kernel;
use crate::record::{Value, numa_distribution};
use crate::subject::Scope;

/// Moves the memory of a process onto nodes.
pub struct PageMigration<'a> {
    pub process: ProcessRef,
    pub nodes: &'a CpuSet,
}

impl Operation for PageMigration<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    fn lives_with(&self) -> Option<ThreadRef> {
        Some(first_thread(self.process))
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::MigratePages { process, .. } if *process == self.process)
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::Memory(numa_distribution::of(kernel.node_memory(&self.process)?)))
    }

    /// Two readings of a running process never agree.
    fn is_read_again(&self) -> bool {
        false
    }

    fn perform(&self, kernel: &dyn Kernel, now: &Value) -> io::Result<()> {
        let Value::Memory(now) = now else { return Err(unfit()) };
        let from: CpuSet = now.iter().map(|(node, _)| *node).collect();
        kernel.migrate_pages(self.process.pid, &from.difference(self.nodes), self.nodes)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        let Value::Memory(old) = old else { return Err(unfit()) };
        kernel.spread_pages(&self.process, &old.iter().copied().collect())
    }

    fn same(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Memory(a), Value::Memory(b)) => numa_distribution::are_same(a, b),
            _ => a == b,
        }
    }

    fn took_effect(&self, now: &Value) -> bool {
        matches!(now, Value::Memory(now) if numa_distribution::lie_on(now, self.nodes))
    }

    /// One that was killed may have moved any part; and a process that runs takes memory from other nodes as well.
    fn is_ours(&self, _old: &Value, left: Option<&Value>, now: &Value) -> bool {
        left.is_none()
            || matches!(now, Value::Memory(now) if numa_distribution::lie_mostly_on(now, self.nodes))
    }

    fn is_as_left(&self, _left: &Value, _now: &Value) -> bool {
        true
    }

    fn object(&self) -> String {
        format!("process {}: memory by node", self.process.pid)
    }

    fn asked(&self) -> String {
        format!("on nodes {}", self.nodes)
    }

    fn call(&self) -> String {
        format!("migrate_pages({}, to nodes {})", self.process.pid, self.nodes)
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        match error.raw_os_error() {
            Some(libc::EINVAL) => Some(Refusal::unavailable(
                "none of these nodes is online, has memory and is allowed to pinwise itself (cpuset.mems of its cgroup)",
                "choose from Mems_allowed_list of /proc/self/status, or run outside of the container",
            )),
            Some(libc::EPERM) if is_root() => Some(Refusal::permission(
                "the process may not use these nodes (cpuset.mems of its cgroup), or this is a container",
                "choose from Mems_allowed_list in its status, or run outside of the container",
            )),
            Some(libc::EBUSY | libc::EIO) => Some(Refusal::unavailable(
                "some pages cannot be moved at the moment: a device or a lock holds them",
                "try again, or restart the server with a memory policy",
            )),
            Some(libc::ENOMEM) => Some(Refusal::unavailable(
                "the nodes do not have enough free memory",
                "free some there, or name more nodes (see numactl -H)",
            )),
            Some(libc::ENOSYS) => Some(Refusal::unavailable(
                "this kernel cannot move pages (CONFIG_NUMA, CONFIG_MIGRATION)",
                "restart the server with a memory policy",
            )),
            _ => None,
        }
    }
}

/// Memory of a process, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use libc::{EBUSY, EINVAL, EIO, ENOSYS, ESRCH};
    use machine::{Act, CpuSet};

    use super::PageMigration;
    use crate::acts::samples::{Machine, Sampled, end_process};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// Memory that lies on two nodes is moved onto one of them.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        let process = machine.server;
        machine.kernel.set_memory(process.pid, &[(0, 4 << 20), (1, 12 << 20)]);
        vec![Act::MigratePages { process, nodes: CpuSet::single(0) }]
    }

    impl Sampled for PageMigration<'_> {
        /// mm/mempolicy.c.
        fn errnos(&self) -> &'static [i32] {
            &[EBUSY, EINVAL, EIO, ENOSYS, ESRCH]
        }

        fn is_of_process(&self) -> bool {
            true
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            state.memory.insert(self.process.pid, [(1, 16 << 20)].into());
            true
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            end_process(kernel, self.process.pid)
        }
    }
}
