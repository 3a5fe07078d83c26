//! Capabilities of the calling thread (capabilities(7)).

use machine::procfs::pid_status;

/// CAP_SYS_ADMIN of include/uapi/linux/capability.h.
pub const SYS_ADMIN: u32 = 21;
/// CAP_SYS_NICE.
pub const SYS_NICE: u32 = 23;

/// Whether the calling thread has a capability in its effective set.
pub fn is_effective(number: u32) -> bool {
    let status = std::fs::read("/proc/thread-self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    pid_status::mask(&status, "CapEff").is_some_and(|mask| mask & (1 << number) != 0)
}
