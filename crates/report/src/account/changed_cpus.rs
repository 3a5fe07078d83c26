//! CPUs that were not online all the time. A window says this first: its shares are of a machine that changed.

use probe::account::ChangedCpu;

use crate::account::figures::time;
use crate::number;

/// Up to this many CPUs have a line each.
const SHOWN: usize = 3;

/// Times shorter than this, ns, are shown with a unit of their own.
const TENTHS_NS: u64 = 100_000_000;

/// A line for each, or one for many; empty where all were online all the time.
pub fn lines(changed: &[ChangedCpu]) -> String {
    if changed.len() <= SHOWN {
        return changed.iter().map(line).collect();
    }
    let cpus: machine::CpuSet = changed.iter().map(|changed| changed.cpu).collect();
    let longest =
        changed.iter().filter(|changed| changed.offline_ns > 0).max_by_key(|changed| changed.offline_ns);
    match longest {
        Some(longest) => format!(
            "CPUs {cpus} were offline for part of the time; CPU {} longest: {}.\n",
            longest.cpu,
            length(longest)
        ),
        None => format!("CPUs {cpus} went offline or came online when the window began or ended.\n"),
    }
}

fn line(changed: &ChangedCpu) -> String {
    let cpu = changed.cpu;
    match (changed.offline_ns, changed.left > changed.came) {
        (1.., _) => format!("CPU {cpu} was offline for {}.\n", length(changed)),
        (0, true) => format!("CPU {cpu} went offline when the window ended.\n"),
        (0, false) => format!("CPU {cpu} came online when the window began.\n"),
    }
}

/// `4.0 of 6.0 s`.
fn length(changed: &ChangedCpu) -> String {
    let s = |ns: u64| number::grouped(ns as f64 / 1e9, 1);
    let offline = match changed.offline_ns < TENTHS_NS {
        true => time(changed.offline_ns),
        false => s(changed.offline_ns),
    };
    format!("{offline} of {} s", s(changed.wall_ns))
}

#[cfg(test)]
mod tests {
    use advise::diagnosis::Diagnosis;
    use probe::account::{Account, CpuAccount, Offline};

    use super::*;
    use crate::account::account_text::{Wanted, render};

    const S: u64 = 1_000_000_000;

    fn cpu(cpu: u32, offline_ns: u64) -> CpuAccount {
        let offline = Offline { total_ns: offline_ns, left: 1, came: 0 };
        CpuAccount {
            cpu,
            wall_ns: 6 * S,
            idle_ns: (6 * S).saturating_sub(offline_ns),
            offline: (offline_ns > 0).then_some(offline),
            ..CpuAccount::default()
        }
    }

    fn sheet(offline_ns: &[u64]) -> String {
        let cpus = (0..).zip(offline_ns).map(|(number, ns)| cpu(number, *ns)).collect();
        let account = Account { window_s: 6.0, cpus, ..Account::default() }.filled_up();
        render(&account, &Diagnosis::default(), "all CPUs", Wanted::default())
    }

    #[test]
    fn a_window_whose_cpus_changed_says_so_first() {
        let text = sheet(&[0, 0, 0, 4 * S]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["all CPUs, 6.0 s", "", "CPU 3 was offline for 4.0 of 6.0 s."], "{text}");
        assert!(lines[3].starts_with("Tasks ran on 4 CPUs"), "{text}");
        let table = || text.lines().skip_while(|line| *line != "CPUs").skip(1);
        let row = |first: &str| -> Vec<String> {
            let line = table().find(|line| line.split_whitespace().next() == Some(first));
            line.map(|line| line.split_whitespace().map(str::to_string).collect()).unwrap_or_default()
        };
        let column = row("CPU").iter().position(|name| name == "OFFLINE");
        assert_eq!(column, Some(3), "{text}");
        let shares = |first: &str| row(first).join(" ");
        assert!(shares("3").contains("33.3 %") && shares("3").contains("66.7 %"), "{text}");
        assert!(shares("0").contains("100.0 %"), "{text}");
    }

    #[test]
    fn a_cpu_that_was_offline_for_no_time_is_said_to_have_changed() {
        let of = |left, came| lines(&[ChangedCpu { cpu: 3, offline_ns: 0, wall_ns: 0, left, came }]);
        assert_eq!(of(1, 0), "CPU 3 went offline when the window ended.\n");
        assert_eq!(of(0, 1), "CPU 3 came online when the window began.\n");
    }

    #[test]
    fn counters_alone_say_it_first_too() {
        let gone = ChangedCpu { cpu: 3, offline_ns: 4 * S, wall_ns: 6 * S, left: 1, came: 0 };
        let seen = probe::Observation { to_ns: 6 * S, changed_cpus: vec![gone], ..Default::default() };
        let text = crate::account::counters_text::render(&seen, "all CPUs");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1..], ["", "CPU 3 was offline for 4.0 of 6.0 s."], "{text}");
    }

    #[test]
    fn where_all_were_online_nothing_is_said() {
        let text = sheet(&[0, 0]);
        assert!(!text.to_lowercase().contains("offline"), "{text}");
    }

    #[test]
    fn short_times_have_their_unit_and_many_cpus_one_line() {
        assert!(sheet(&[0, 40_000_000]).contains("CPU 1 was offline for 40.0 ms of 6.0 s.\n"));
        let many = sheet(&[S, 2 * S, S, S, 0]);
        assert!(
            many.contains("CPUs 0-3 were offline for part of the time; CPU 1 longest: 2.0 of 6.0 s.\n"),
            "{many}"
        );
    }
}
