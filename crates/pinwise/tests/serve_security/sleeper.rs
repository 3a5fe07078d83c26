//! A process to be placed: it sleeps.

use std::fs;
use std::process::{Child, Command};

/// The process; it is killed when this is dropped.
pub struct Sleeper(Child);

impl Sleeper {
    /// Starts it; `None` where it cannot be placed by what the case found, which is said.
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root changes anything by the page");
            return None;
        }
        let sleeper = Self(Command::new("sleep").arg("1000").spawn().unwrap());
        let cpus = sleeper.cpus();
        if cpus == "0" || !(cpus.starts_with("0-") || cpus.starts_with("0,")) {
            eprintln!("skipped: this test may use CPUs {cpus}, and needs CPU 0 and another one");
            return None;
        }
        Some(sleeper)
    }

    /// Its number.
    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// When it was started, clock ticks after boot: field 22 of its stat. Its name has no space.
    pub fn start_time_ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        stat.split_whitespace().nth(21).unwrap().parse().unwrap()
    }

    /// The CPUs that it may use, as the kernel lists them.
    pub fn cpus(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        list.unwrap().trim().to_string()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
