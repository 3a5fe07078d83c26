//! A file of /proc/PID that sets something for the process.

use std::io;

use machine::{Act, ProcessFile, ProcessRef, ThreadRef};

use super::kernel_file::form;
use super::operation::refusal::{Refusal, is_permission};
use super::{Operation, first_thread, unfit};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

/// Writes a number to a file of a process.
pub struct OwnFile {
    pub process: ProcessRef,
    pub file: ProcessFile,
    pub value: i32,
}

impl OwnFile {
    /// The number that the file reads, as it takes it.
    fn number(&self, value: &Value) -> Option<i32> {
        let Value::Text(text) = value else { return None };
        match self.file {
            ProcessFile::OomScoreAdj => text.trim().parse().ok(),
            ProcessFile::Autogroup => form::autogroup(text).map(|(_, nice)| nice),
        }
    }
}

impl Operation for OwnFile {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    /// An autogroup is that of a session, and no process inherits it from another one.
    fn thread(&self) -> Option<ThreadRef> {
        (self.file == ProcessFile::OomScoreAdj).then(|| first_thread(self.process))
    }

    fn lives_with(&self) -> Option<ThreadRef> {
        Some(first_thread(self.process))
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::WriteProcessFile { process, file, .. }
            if (process, file) == (&self.process, &self.file))
    }

    fn shares_object(&self, old: &Value, other: &Act, found: &Value) -> bool {
        let name = |value: &Value| match value {
            Value::Text(text) => form::autogroup(text).map(|(name, _)| name.to_string()),
            _ => None,
        };
        matches!(other, Act::WriteProcessFile { file: ProcessFile::Autogroup, .. })
            && self.file == ProcessFile::Autogroup
            && name(old).is_some_and(|old| name(found) == Some(old))
    }

    /// It holds for the whole process, for which its first thread stands.
    fn for_thread(&self, thread: ThreadRef) -> Option<Act> {
        let process = ProcessRef { pid: thread.pid, start_time_ticks: thread.start_time_ticks };
        let act = Act::WriteProcessFile { process, file: self.file, value: self.value };
        (thread.tid == thread.pid).then_some(act)
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        let text = kernel.read_process_file(&self.process, self.file)?.trim_end().to_string();
        if self.file == ProcessFile::Autogroup && form::autogroup(&text).is_none() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the process is in no autogroup"));
        }
        Ok(Value::Text(text))
    }

    /// The kernel takes any nice value of 0 and above from everybody.
    fn gives_up(&self, old: &Value) -> Option<String> {
        let old = self.number(old).filter(|_| self.file == ProcessFile::Autogroup)?;
        (old < 0 && self.value > old).then(|| old.to_string())
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.write_process_file(&self.process, self.file, self.value)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        kernel.write_process_file(&self.process, self.file, self.number(old).ok_or_else(unfit)?)
    }

    fn took_effect(&self, now: &Value) -> bool {
        self.number(now) == Some(self.value)
    }

    fn object(&self) -> String {
        format!("process {}: {}", self.process.pid, self.file.name())
    }

    fn asked(&self) -> String {
        self.value.to_string()
    }

    fn call(&self) -> String {
        format!("write '{}' to /proc/{}/{}", self.value, self.process.pid, self.file.name())
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        match self.file {
            ProcessFile::OomScoreAdj if is_permission(error) => Some(Refusal::permission(
                "only a process with CAP_SYS_RESOURCE may protect a process better than it was",
                "run as root, or choose a higher value",
            )),
            ProcessFile::Autogroup if is_permission(error) => Some(Refusal::permission(
                "values below 0 need CAP_SYS_NICE",
                "run as root, or choose 0 or more",
            )),
            ProcessFile::OomScoreAdj if error.raw_os_error() == Some(libc::EINVAL) => {
                Some(Refusal::usage("the kernel rejects this value", "choose from -1000 to 1000"))
            }
            ProcessFile::Autogroup if error.raw_os_error() == Some(libc::EINVAL) => {
                Some(Refusal::usage("the kernel rejects this value", "choose from -20 to 19"))
            }
            _ if error.raw_os_error() == Some(libc::EAGAIN) => Some(Refusal::unavailable(
                "the kernel accepts ten changes of autogroups a second from users other than root",
                "try again in a second",
            )),
            _ => None,
        }
    }
}

/// Both files, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use libc::{EAGAIN, EINVAL, ENOENT, EROFS, ESRCH};
    use machine::{Act, ProcessFile};

    use super::OwnFile;
    use crate::acts::samples::{Machine, Sampled, end_process};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// Each of the files once.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        machine.kernel.add_file("/proc/50/oom_score_adj", "0\n");
        machine.kernel.add_file("/proc/50/autogroup", "/autogroup-7 nice 0\n");
        let process = machine.server;
        vec![
            Act::WriteProcessFile { process, file: ProcessFile::OomScoreAdj, value: -500 },
            Act::WriteProcessFile { process, file: ProcessFile::Autogroup, value: -5 },
        ]
    }

    impl Sampled for OwnFile {
        fn variety(&self) -> Option<String> {
            Some(format!("`{}`", self.file.name()))
        }

        /// fs/proc/base.c, kernel/sched/autogroup.c.
        fn errnos(&self) -> &'static [i32] {
            match self.file {
                ProcessFile::OomScoreAdj => &[EINVAL, ENOENT, ESRCH, EROFS],
                ProcessFile::Autogroup => &[EAGAIN, EINVAL, ENOENT, ESRCH, EROFS],
            }
        }

        fn is_of_process(&self) -> bool {
            true
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            let text = match self.file {
                ProcessFile::OomScoreAdj => "77\n",
                ProcessFile::Autogroup => "/autogroup-7 nice 3\n",
            };
            let path = format!("/proc/{}/{}", self.process.pid, self.file.name());
            state.files.insert((None, path.into()), text.into());
            true
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            end_process(kernel, self.process.pid)
        }
    }
}
