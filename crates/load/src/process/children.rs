//! CPU time of processes that ended: getrusage(2), RUSAGE_CHILDREN.

use std::ops::Sub;

/// CPU time, s.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CpuTime {
    /// In user mode.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl CpuTime {
    /// Both together.
    pub fn total_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

impl Sub for CpuTime {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }
}

/// CPU time of all children of this process that have ended and been waited for, with their own such children.
pub fn cpu_time() -> CpuTime {
    // SAFETY: an all-zero rusage is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid place for the answer; it cannot fail with RUSAGE_CHILDREN.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    CpuTime { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_child_that_computed_is_counted_when_it_has_ended() {
        let before = super::cpu_time();
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", script]).status().unwrap().success());
        let used = super::cpu_time() - before;
        assert!(used.user_s > 0.01 && used.total_s() >= used.user_s, "{used:?}");
    }
}
