//! CPU time of the processes of a server, to the nanosecond, while they run.
//!
//! A unit, container or pod has a cgroup whose cpu.stat counts all that ever ran in it, in microseconds. Of other servers the CPU clock of
//! each process is read (clock_getcpuclockid(3)): it counts its threads that have ended, too, where /proc/PID/stat counts in steps of 10 ms.
//! Processes that such a server starts are found when they are looked for; one that begins and ends in between is missed.

use std::collections::BTreeMap;

use machine::processes::{self, FoundServer};
use machine::procfs::key_values;
use machine::{Missing, Root};

/// What the fact is called where it is missing.
const FACT: &str = "CPU time of the server";

/// The CPU time of a server since it is watched.
pub(super) struct ServerCpu {
    root: Root,
    asked: String,
    from: Origin,
}

/// Where it is read.
enum Origin {
    /// Of a cgroup: the file, and what it said first, us.
    Cgroup { file: String, first_us: u64 },
    /// Of processes.
    Processes(BTreeMap<u32, Clock>),
}

/// The CPU clock of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Clock {
    /// What it read when it was watched first; 0 of a process that began later, ns.
    first_ns: u64,
    /// What it read last, which stays when the process has ended, ns.
    last_ns: u64,
    ended: bool,
}

impl ServerCpu {
    /// Begins with what has been used up to now.
    pub(super) fn begin(root: Root, asked: &str, found: &FoundServer) -> Self {
        let of_cgroup = found.cgroup.as_ref().and_then(|cgroup| {
            let file = format!("{cgroup}/cpu.stat");
            Some(Origin::Cgroup { first_us: usage_us(&root, &file).ok()?, file })
        });
        let from = of_cgroup.unwrap_or_else(|| {
            let clocks = found.pids.iter().filter_map(|pid| {
                let now_ns = process_ns(*pid)?;
                Some((*pid, Clock { first_ns: now_ns, last_ns: now_ns, ended: false }))
            });
            Origin::Processes(clocks.collect())
        });
        Self { root, asked: asked.to_string(), from }
    }

    /// What it has used since, ns.
    ///
    /// # Errors
    /// The file is gone, or cannot be read; no process of it runs any more.
    pub(super) fn used_ns(&mut self) -> Result<u64, Missing> {
        match &mut self.from {
            Origin::Cgroup { file, first_us } => {
                let now_us = usage_us(&self.root, file)?;
                Ok(now_us.saturating_sub(*first_us).saturating_mul(1_000))
            }
            Origin::Processes(clocks) => {
                for (pid, clock) in clocks.iter_mut().filter(|(_, clock)| !clock.ended) {
                    clock.move_to(process_ns(*pid));
                }
                match clocks.values().all(|clock| clock.ended) {
                    true => Err(Missing::new(FACT, "none of its processes runs any more")),
                    false => Ok(clocks.values().map(Clock::used_ns).fold(0, u64::saturating_add)),
                }
            }
        }
    }

    /// Looks for processes that it has started meanwhile.
    pub(super) fn look_again(&mut self) {
        let Origin::Processes(clocks) = &mut self.from else { return };
        // What cannot be found again now is looked for again later.
        let Ok(found) = processes::find(&self.root, &self.asked) else { return };
        for pid in found.pids {
            if !clocks.contains_key(&pid)
                && let Some(last_ns) = process_ns(pid)
            {
                clocks.insert(pid, Clock { first_ns: 0, last_ns, ended: false });
            }
        }
    }
}

impl Clock {
    fn used_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// A clock that goes back is that of another process with the same number.
    fn move_to(&mut self, now_ns: Option<u64>) {
        match now_ns.filter(|now_ns| *now_ns >= self.last_ns) {
            Some(now_ns) => self.last_ns = now_ns,
            None => self.ended = true,
        }
    }
}

fn usage_us(root: &Root, file: &str) -> Result<u64, Missing> {
    let text = root.read(file).map_err(|why| Missing::new(FACT, why))?;
    let usage = key_values::value(&text, "usage_usec")
        .map_err(|why| Missing::new(FACT, format_args!("{file}: {why}")))?;
    usage.ok_or_else(|| Missing::new(FACT, format_args!("{file} has no usage_usec")))
}

/// CPU time of all threads of a process, those that have ended included, ns; `None` where it does not run.
fn process_ns(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0)?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: timespec is plain data, of which zero is a value.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals of the types that the calls fill in.
    let is_read = unsafe {
        libc::clock_getcpuclockid(pid, &mut clock) == 0 && libc::clock_gettime(clock, &mut time) == 0
    };
    // The clock begins at 0 and never runs backwards: the casts lose nothing.
    is_read.then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn found(pids: Vec<u32>, cgroup: Option<String>) -> FoundServer {
        FoundServer { pids, unit: None, cgroup, by_name: false }
    }

    #[test]
    fn work_of_this_process_moves_its_clock() {
        let pid = std::process::id();
        let mut cpu = ServerCpu::begin(Root::live(), &pid.to_string(), &found(vec![pid], None));
        let before_ns = cpu.used_ns().unwrap();
        let mut sum = 0u64;
        while cpu.used_ns().unwrap() < before_ns + 5_000_000 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        assert!(process_ns(u32::MAX).is_none() && process_ns(0).is_none());
    }

    #[test]
    fn a_child_that_comes_later_counts_from_its_beginning_and_what_has_ended_stays() {
        let pid = std::process::id();
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let mut cpu = ServerCpu::begin(Root::live(), &pid.to_string(), &found(vec![child.id()], None));
        cpu.look_again();
        let Origin::Processes(clocks) = &cpu.from else { panic!("it has no cgroup") };
        // Other tests have children of this process, too.
        assert!(clocks.contains_key(&child.id()) && clocks[&pid].first_ns == 0);
        let used_ns = cpu.used_ns().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(cpu.used_ns().unwrap() >= used_ns);
        let Origin::Processes(clocks) = &cpu.from else { panic!("it has no cgroup") };
        assert!(clocks[&child.id()].ended && !clocks[&pid].ended);
    }

    #[test]
    fn a_server_that_has_ended_has_no_cpu_time_any_more() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        let mut cpu = ServerCpu::begin(Root::live(), &pid.to_string(), &found(vec![pid], None));
        child.wait().unwrap();
        assert!(cpu.used_ns().unwrap_err().why.contains("none of its processes"));
        let mut clock = Clock { first_ns: 5, last_ns: 9, ended: false };
        clock.move_to(Some(3));
        assert!(clock.ended && clock.used_ns() == 4);
    }

    #[test]
    fn a_cgroup_counts_by_its_own_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cpu.stat");
        std::fs::write(&file, "usage_usec 1000\nuser_usec 900\n").unwrap();
        let cgroup = folder.path().display().to_string();
        let mut cpu = ServerCpu::begin(Root::live(), "x.service", &found(vec![1], Some(cgroup)));
        std::fs::write(&file, "usage_usec 1750\nuser_usec 900\n").unwrap();
        assert_eq!(cpu.used_ns(), Ok(750_000));
        std::fs::write(&file, "nr_periods 0\n").unwrap();
        assert!(cpu.used_ns().unwrap_err().why.contains("usage_usec"));
        let empty =
            ServerCpu::begin(Root::live(), "x", &found(vec![1], Some(folder.path().display().to_string())));
        assert!(matches!(empty.from, Origin::Processes(_)), "of a cgroup without the count, its processes");
    }
}
