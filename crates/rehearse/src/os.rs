//! What a child process is given before it becomes QEMU, or a tool.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// A child that dies with the thread that started it, belongs to no terminal's foreground, and, on request, sees only a
/// network of its own. Without root it gets the network by way of a user namespace, where the kernel lets it.
pub(crate) fn prepare(command: &mut Command, own_network: bool) {
    let user = [rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()];
    let maps = user.map(|id| format!("0 {id} 1"));
    let is_root = user[0] == 0;
    let parent = rustix::process::getpid();
    command.process_group(0);
    // SAFETY: between fork and exec only system calls are made; the texts were made before the fork.
    unsafe {
        command.pre_exec(move || {
            if own_network && is_root {
                // SAFETY: this process has one thread, and a new network namespace changes no memory.
                unshare_unsafe(UnshareFlags::NEWNET)?;
            }
            if own_network && !is_root {
                // SAFETY: as above.
                unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)?;
                write(c"/proc/self/setgroups", b"deny")?;
                write(c"/proc/self/uid_map", maps[0].as_bytes())?;
                write(c"/proc/self/gid_map", maps[1].as_bytes())?;
            }
            // Last, because the kernel forgets it when the namespace gives other privileges.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            match rustix::process::getppid() {
                Some(now) if now == parent => Ok(()),
                _ => Err(std::io::Error::other("the process that starts the guest is gone")),
            }
        });
    }
}

/// A child that gets SIGTERM when the thread that started it ends. It stays in its terminal's foreground, so that
/// it is interrupted with its parent.
pub(crate) fn end_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only a system call is made.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?));
    }
}

fn write(path: &std::ffi::CStr, text: &[u8]) -> std::io::Result<()> {
    let file = rustix::fs::open(path, rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty())?;
    rustix::io::write(&file, text)?;
    Ok(())
}
