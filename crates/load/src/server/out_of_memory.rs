//! Whether the kernel ended a process of the server because its cgroup had no memory left.

use std::path::Path;

use machine::procfs::key_values;
use machine::{Class, Fault, Root};

/// Where each version counts it.
const FILES: [&str; 2] = ["memory.events", "memory.oom_control"];

/// The fault of a server that was killed for memory; none where it was not, or has no cgroup of its own.
pub(crate) fn killed(root: &Root, cgroup: Option<&Path>, limit_mb: Option<u64>) -> Option<Fault> {
    let cgroup = cgroup?;
    let (file, killed) = FILES.iter().find_map(|file| {
        let text = root.read(cgroup.join(file)).ok()?;
        Some((file, key_values::value(&text, "oom_kill").ok()??))
    })?;
    let limit = limit_mb.map(|mb| format!(" of {mb} MiB")).unwrap_or_default();
    (killed > 0).then(|| {
        Fault::new(
            Class::WorkloadFailed,
            "server",
            format!("killed for memory: at its limit{limit} the kernel ended {killed} of its processes ({file}: oom_kill {killed})"),
            "raise server.memory_limit_mb, or give it swap (server.swap_mb)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Tree;

    #[test]
    fn both_versions_count_it_and_no_count_is_no_kill() {
        let v1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n";
        let root = Root::from_tree(
            Tree::new()
                .file("/c/one/memory.oom_control", v1)
                .file("/c/two/memory.events", "low 0\noom 1\noom_kill 0\noom_group_kill 0\n"),
        );
        let of = |cgroup: &str| killed(&root, Some(Path::new(cgroup)), Some(200));
        let cause = of("/c/one").unwrap().cause;
        assert!(
            cause.contains("killed for memory") && cause.contains("200 MiB") && cause.contains("oom_kill 2"),
            "{cause}"
        );
        assert!(of("/c/two").is_none() && of("/c/none").is_none());
        assert!(killed(&root, None, None).is_none());
    }
}
