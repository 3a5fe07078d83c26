//! CPU time of processes that ended: getrusage(2), RUSAGE_CHILDREN.

/// User CPU time of all children of this process that have ended and been waited for, with their own such children, s.
pub fn user_s() -> f64 {
    // SAFETY: an all-zero rusage is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid place for the answer; it cannot fail with RUSAGE_CHILDREN.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    usage.ru_utime.tv_sec as f64 + usage.ru_utime.tv_usec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_child_that_computed_is_counted_when_it_has_ended() {
        let before = super::user_s();
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", script]).status().unwrap().success());
        assert!(super::user_s() > before + 0.01);
    }
}
