//! What tests need of this machine; each says what is missing.

use std::net::TcpListener;
use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity};

/// The first and the last CPU that this process may use; `why` it takes root.
pub fn first_and_last_cpu(why: &str) -> Option<(String, String)> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: {why}");
        return None;
    }
    let may = sched_getaffinity(None).unwrap();
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| may.is_set(*cpu)).collect();
    match cpus.as_slice() {
        [first, .., last] => Some((first.to_string(), last.to_string())),
        _ => {
            eprintln!("skipped: there is one CPU only");
            None
        }
    }
}

/// The first of these programs that is not there, in words.
pub fn absent(programs: &[&str]) -> Option<String> {
    let is_absent =
        |program: &&&str| !Command::new("which").arg(program).output().is_ok_and(|out| out.status.success());
    let absent = programs.iter().find(is_absent)?;
    Some(format!("{absent} is not installed (scripts/setup test installs it)"))
}

/// Whether these programs are there; says which one is not.
pub fn are_installed(programs: &[&str]) -> bool {
    let absent = absent(programs);
    absent.iter().for_each(|why| eprintln!("skipped: {why}"));
    absent.is_none()
}

/// A port of loopback on which nobody listens.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
