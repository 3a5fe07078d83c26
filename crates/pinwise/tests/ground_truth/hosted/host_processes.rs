//! Processes of a study with hosts, as this machine's /proc shows them, whichever namespace they are in.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::processes::{file, number};

/// Numbers of the processes of pinwise with this verb in a network namespace.
pub fn of_pinwise(netns: &str, verb: &str) -> Vec<i32> {
    within(netns, |words| words.len() > 1 && words[0].contains("pinwise") && words[1] == verb)
}

/// The same of those that run `sleep` for so many seconds.
pub fn sleeping(netns: &str, seconds: &str) -> Vec<i32> {
    within(netns, |words| words.len() > 1 && Path::new(words[0]).ends_with("sleep") && words[1] == seconds)
}

/// Numbers of the processes in a network namespace of which `is_asked` is so, given their words.
fn within(netns: &str, is_asked: impl Fn(&[&str]) -> bool) -> Vec<i32> {
    let inode = fs::metadata(Path::new("/run/netns").join(netns)).unwrap().ino();
    let network = PathBuf::from(format!("net:[{inode}]"));
    matching(|dir, words| {
        is_asked(words) && fs::read_link(dir.join("ns/net")).is_ok_and(|link| link == network)
    })
}

/// Numbers of the ssh clients with this destination.
pub fn ssh_to(destination: &str) -> Vec<i32> {
    matching(|_, words| {
        let is_ssh = words.first().is_some_and(|program| Path::new(program).ends_with("ssh"));
        is_ssh && words.contains(&destination)
    })
}

/// Sends a signal (`KILL`) to these processes, as far as they are still there.
pub fn signal(name: &str, processes: &[i32]) {
    let numbers = processes.iter().map(ToString::to_string);
    let _ = Command::new("kill").arg(format!("-{name}")).args(numbers).stderr(Stdio::null()).status();
}

/// Numbers of the processes of which `holds` is so, given their folder in /proc and their words.
fn matching(holds: impl Fn(&Path, &[&str]) -> bool) -> Vec<i32> {
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let of = |dir: PathBuf| {
        let number = number(&dir)?;
        let line = file(&dir, "cmdline");
        let words: Vec<&str> = line.split(' ').collect();
        holds(&dir, &words).then_some(number)
    };
    all.filter_map(of).collect()
}
