//! Processes by the name of their command: the only one, or all of them.

use std::collections::BTreeSet;

use super::{FoundServer, MOST_OFFERED, NO_PROCESS, of_process};
use crate::limits::cgroups;
use crate::processes::scan::{self, Scan, Seen};
use crate::{Class, Fault, Root};

/// Asks for all processes of a name: `all:redis-server`.
pub(super) const ALL: &str = "all:";

/// The only process whose command is called so, with its descendants; workers of a master of the same name are the master's.
/// `None` where none is.
///
/// # Errors
/// Several are, which are named.
pub(super) fn only(root: &Root, asked: &str) -> Result<Option<FoundServer>, Fault> {
    let scan = scan::read(root).ok();
    let running = scan.as_ref().map(|scan| called(scan, kept(asked))).unwrap_or_default();
    match running.as_slice() {
        [] => Ok(None),
        [seen] => of_process(root, &seen.pid.to_string()).map(Some),
        several => Err(choice(root, asked, several)),
    }
}

/// All processes whose command is called so, each with its descendants.
///
/// # Errors
/// There is none; /proc cannot be read.
pub(super) fn all(root: &Root, name: &str) -> Result<FoundServer, Fault> {
    let scan = scan::read(root)?;
    let (mut pids, mut known) = (Vec::new(), BTreeSet::new());
    for seen in called(&scan, kept(name)) {
        let tree = std::iter::once(seen.pid).chain(scan.tree(seen.pid));
        pids.extend(tree.filter(|pid| known.insert(*pid)));
    }
    match pids.is_empty() {
        true => {
            let remedy = "start one; ps -e -o comm lists the names of what runs";
            Err(Fault::new(Class::MachineLacks, format!("process {name}"), NO_PROCESS, remedy))
        }
        false => Ok(FoundServer { by_name: true, ..FoundServer::of_pids(pids) }),
    }
}

/// Processes of this name that are nobody's child of the same name: masters rather than workers.
pub(super) fn called<'a>(scan: &'a Scan, name: &str) -> Vec<&'a Seen> {
    let called = scan.seen.iter().filter(|seen| seen.comm == name && !seen.kernel);
    called.filter(|seen| scan.process(seen.ppid).is_none_or(|parent| parent.comm != name)).collect()
}

/// As much of a name as the kernel keeps: 15 bytes (TASK_COMM_LEN).
fn kept(name: &str) -> &str {
    name.char_indices().find(|(at, c)| at + c.len_utf8() > 15).map_or(name, |(at, _)| &name[..at])
}

/// Says which there are, so that one can be chosen. Not by their arguments: those may hold secrets.
fn choice(root: &Root, asked: &str, several: &[&Seen]) -> Fault {
    let clock = Clock::read(root);
    let listed: Vec<String> =
        several.iter().take(2 * MOST_OFFERED).map(|seen| described(root, seen, clock.as_ref())).collect();
    let more = several.len().saturating_sub(listed.len());
    let mut cause = format!("there are several processes of this name: {}", listed.join(", "));
    if more > 0 {
        cause = format!("{cause}, and {more} more");
    }
    let remedy = format!("give the number or cgroup of the one you mean, or {ALL}{asked} for all of them");
    Fault::new(Class::Usage, format!("process {asked}"), cause, remedy)
}

/// What the age of a process follows from.
struct Clock {
    uptime_s: f64,
    /// Ticks of USER_HZ a second, in which /proc counts the start of a process.
    ticks_per_s: u64,
}

impl Clock {
    /// `None` where the machine does not say both.
    fn read(root: &Root) -> Option<Self> {
        let uptime = root.line("/proc/uptime").ok()?;
        let uptime_s: f64 = uptime.split(' ').next()?.parse().ok()?;
        let ticks_per_s = root.ticks_per_s()?;
        uptime_s.is_finite().then_some(Self { uptime_s, ticks_per_s })
    }

    fn age_s(&self, seen: &Seen) -> f64 {
        self.uptime_s - seen.start_time_ticks as f64 / self.ticks_per_s as f64
    }
}

/// `700 (for 3 h, in /system.slice/redis.service)`
fn described(root: &Root, seen: &Seen, clock: Option<&Clock>) -> String {
    let since = clock.map(|clock| age(clock.age_s(seen)));
    let cgroup = root.read(format!("/proc/{}/cgroup", seen.pid)).ok();
    let cgroup = cgroup.and_then(|text| cgroups::path_of_process(&text)).map(|path| format!("in {path}"));
    let known: Vec<String> = since.into_iter().chain(cgroup).collect();
    match known.is_empty() {
        true => seen.pid.to_string(),
        false => format!("{} ({})", seen.pid, known.join(", ")),
    }
}

/// How long a process has run, roughly.
fn age(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    match seconds {
        _ if seconds < 120.0 => format!("for {seconds:.0} s"),
        _ if seconds < 7_200.0 => format!("for {:.0} min", seconds / 60.0),
        _ if seconds < 172_800.0 => format!("for {:.0} h", seconds / 3_600.0),
        _ => format!("for {:.0} days", seconds / 86_400.0),
    }
}
