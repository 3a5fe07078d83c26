//! Threads that do nothing but use a CPU: what a busy CPU is, without a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use machine::{Class, CpuSet, Fault};

/// Most threads on one CPU.
pub const MOST_PER_CPU: u32 = 16;

/// Spinning threads, until it is dropped or the process ends.
#[derive(Debug, Default)]
pub struct Spin {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Spin {
    /// Starts `per_cpu` threads on each of `cpus`, each pinned to its CPU before this returns; none for 0. They make no
    /// system call and take no lock.
    ///
    /// Fails when a thread cannot be made or may not run on its CPU, and when `per_cpu` is above [`MOST_PER_CPU`].
    pub fn start(cpus: &CpuSet, per_cpu: u32) -> Result<Self, Fault> {
        if per_cpu > MOST_PER_CPU {
            let remedy = format!("choose 0 to {MOST_PER_CPU}");
            return Err(Fault::new(Class::Usage, format!("{per_cpu} spinning threads"), "too many", remedy));
        }
        let mut spin = Self::default();
        for cpu in cpus.iter() {
            for _ in 0..per_cpu {
                // What was started before ends when `spin` is dropped on the way out.
                spin.thread_on(cpu)?;
            }
        }
        Ok(spin)
    }

    fn thread_on(&mut self, cpu: u32) -> Result<(), Fault> {
        let (answers, pinned) = mpsc::channel();
        let stop = self.stop.clone();
        let spinning = move || {
            let answer = change::calling_thread::run_on(&CpuSet::single(cpu));
            let spins = answer.is_ok();
            // Nobody listens only when the starter is gone, and then `stop` is raised.
            let _ = answers.send(answer);
            drop(answers);
            while spins && !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let thread = std::thread::Builder::new().name(format!("spin-{cpu}")).spawn(spinning);
        let failed = |why: &dyn std::fmt::Display| {
            Fault::new(
                Class::WorkloadFailed,
                format!("spinning thread on CPU {cpu}"),
                why,
                "check the limit of tasks",
            )
        };
        self.threads.push(thread.map_err(|e| failed(&e))?);
        pinned.recv().map_err(|e| failed(&e))?
    }
}

impl Drop for Spin {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A spinning thread has nothing to say, and cannot panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_where_they_were_asked_for_and_end_with_it() {
        let cpu = crate::process::allowed_cpus::read().unwrap().first().unwrap();
        let spin = Spin::start(&CpuSet::single(cpu), 2).unwrap();
        let name = format!("spin-{cpu}");
        let mine = || {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
            let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status")).ok();
            let of_spin = |status: &String| status.lines().next() == Some(&format!("Name:\t{name}"));
            tasks.filter_map(status).filter(of_spin).collect::<Vec<String>>()
        };
        assert_eq!(mine().len(), 2);
        for status in mine() {
            assert!(status.contains(&format!("Cpus_allowed_list:\t{cpu}\n")), "{status}");
        }
        drop(spin);
        assert!(mine().is_empty());
    }

    #[test]
    fn a_cpu_that_does_not_exist_and_too_many_are_refused() {
        let fault = Spin::start(&CpuSet::single(1_000_000), 1).unwrap_err();
        assert!(fault.class == Class::Usage && fault.to_string().contains("1000000"), "{fault}");
        assert_eq!(Spin::start(&CpuSet::single(0), 17).unwrap_err().class, Class::Usage);
        assert!(Spin::start(&CpuSet::single(1_000_000), 0).unwrap().threads.is_empty());
    }
}
