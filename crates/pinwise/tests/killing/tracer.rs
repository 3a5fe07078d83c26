//! Runs a command up to one of its system calls, and kills it there: before the call, or right after it (ptrace(2)).

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// System calls that leave something behind: files, folders, and what threads may do. Between two of these it makes no
/// difference when a program ends.
#[cfg(target_arch = "x86_64")]
const LASTING: &[libc::c_long] = &[
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_rmdir,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setscheduler,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_flock,
];

/// Flags of open(2) with which a file may be made, cut off or altered; a file that is only read is left as it was.
#[cfg(target_arch = "x86_64")]
const TO_WRITE: u64 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u64;

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was killed at the requested point.
    Killed,
    /// It ended by itself before.
    ByItself {
        /// Of waitpid(2).
        status: i32,
        /// The points that it has.
        points: usize,
    },
}

/// Runs `command` up to point number `at`, from 0, and kills it there. There are two points a lasting call: before it is made,
/// and when it has been made. Calls of its first thread count.
pub fn run_to(command: &mut Command, at: usize) -> io::Result<Ended> {
    // SAFETY: between fork and exec the child makes one system call and allocates nothing.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let child = command.spawn()?;
    let mut traced = Traced { pid: child.id() as libc::pid_t, child };
    // The first stop is that of execve(2).
    traced.wait()?;
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
    traced.ptrace(libc::PTRACE_SETOPTIONS, options as usize)?;
    let (mut points, mut signal) = (0, 0);
    loop {
        traced.ptrace(libc::PTRACE_SYSCALL, signal)?;
        let status = traced.wait()?;
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            return Ok(Ended::ByItself { status, points });
        }
        let stop = libc::WSTOPSIG(status);
        if stop != libc::SIGTRAP | 0x80 {
            signal = if stop == libc::SIGTRAP { 0 } else { stop as usize };
            continue;
        }
        signal = 0;
        if traced.is_lasting()? {
            if points == at {
                traced.kill()?;
                return Ok(Ended::Killed);
            }
            points += 1;
        }
    }
}

struct Traced {
    pid: libc::pid_t,
    child: Child,
}

impl Traced {
    fn ptrace(&self, request: libc::c_uint, data: usize) -> io::Result<()> {
        // SAFETY: these requests take a number as data, and no address.
        match unsafe { libc::ptrace(request, self.pid, 0_usize, data) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn wait(&mut self) -> io::Result<i32> {
        let mut status = 0;
        // SAFETY: `status` is ours, and lives over the call.
        match unsafe { libc::waitpid(self.pid, &mut status, libc::__WALL) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(status),
        }
    }

    /// Whether the call at which it stands, before or after it, is one that lasts.
    fn is_lasting(&self) -> io::Result<bool> {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: all zeroes are valid registers.
            let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel fills `registers`, which lives over the call.
            let got = unsafe { libc::ptrace(libc::PTRACE_GETREGS, self.pid, 0_usize, &raw mut registers) };
            match (got, registers.orig_rax as libc::c_long) {
                (-1, _) => Err(io::Error::last_os_error()),
                (_, libc::SYS_open) => Ok(registers.rsi & TO_WRITE != 0),
                (_, libc::SYS_openat) => Ok(registers.rdx & TO_WRITE != 0),
                (_, call) => Ok(LASTING.contains(&call)),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// SIGKILL. Before a call that means that the call is not made.
    fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        // Its other threads end with it: the status comes when all have.
        loop {
            let status = self.wait()?;
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                return Ok(());
            }
        }
    }
}
