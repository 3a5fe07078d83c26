//! Idle states by CPU, from /sys/devices/system/cpu/cpuN/cpuidle.

use std::collections::BTreeMap;

use machine::{Missing, Root};

use super::{About, Probe, unreadable};
use crate::online::{ONLINE, online, online_now};
use crate::rows::{Kind, Row, Rows};

const CPUS: &str = "/sys/devices/system/cpu";

/// The probe `cpuidle`.
pub(super) struct Cpuidle;

/// One idle state of one CPU.
struct State {
    cpu: u32,
    name: String,
    usage: String,
    time: String,
}

/// The states of the CPUs that were online when they were looked up.
#[derive(Default)]
struct States {
    online: Vec<u32>,
    states: Vec<State>,
}

impl Probe for Cpuidle {
    fn about(&self) -> &About {
        &About {
            id: "cpuidle",
            title: "how often and how long each CPU was in each idle state",
            docs: "Rows are 'NAME entries' (events) and 'NAME time' (us) for each state that the idle driver offers (POLL, C1, C6, HLT). Deep \
                states are left slowly: a server that is woken for each request pays the exit latency each time. The kernel books a \
                stay when it ends, so one that lasts through the window is not in it.",
            files: &["/sys/devices/system/cpu/cpu*/cpuidle/state*/{name,usage,time}", ONLINE],
            dear: true,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        let missing = unreadable(root, &[ONLINE]);
        match online(root) {
            Ok(online) if find(root, &online.iter().collect::<Vec<_>>()).is_empty() => vec![none()],
            _ => missing,
        }
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let online: Vec<u32> = online_now(root, into)?.iter().collect();
        let mut known = into.recall::<States>();
        if known.online != online {
            known.states = find(root, &online);
            known.online = online;
        }
        let answer = match known.states.is_empty() {
            true => Err(none()),
            false => {
                book(root, &known.states, into);
                Ok(())
            }
        };
        into.remember(known);
        answer
    }
}

fn none() -> Missing {
    Missing::new(
        "cpuidle",
        "no CPU has a cpuidle folder: no idle driver is in use (see /sys/devices/system/cpu/cpuidle)",
    )
}

fn find(root: &Root, online: &[u32]) -> Vec<State> {
    let mut states = Vec::new();
    for cpu in online {
        let folder = format!("{CPUS}/cpu{cpu}/cpuidle");
        for state in root.list(&folder).unwrap_or_default() {
            let file = |name: &str| format!("{folder}/{state}/{name}");
            if let Ok(name) = root.read(file("name")) {
                let name = name.trim().to_string();
                states.push(State { cpu: *cpu, name, usage: file("usage"), time: file("time") });
            }
        }
    }
    states
}

fn book(root: &Root, states: &[State], into: &mut Rows) {
    let mut rows: BTreeMap<(&str, &'static str, &'static str), BTreeMap<u32, u64>> = BTreeMap::new();
    for state in states {
        for (path, what, unit) in [(&state.usage, "entries", "events"), (&state.time, "time", "us")] {
            match into.read(root, path).map(|text| text.trim().parse::<u64>()) {
                // Two states of one name on one CPU are added up: their rows could not be distinguished.
                Ok(Ok(value)) => {
                    *rows.entry((&state.name, what, unit)).or_default().entry(state.cpu).or_insert(0) +=
                        value;
                }
                Ok(Err(_)) => into.missing(path, "is not a number"),
                Err(missing) => into.note(missing),
            }
        }
    }
    for ((state, what, unit), by_cpu) in rows {
        let (cpus, values): (Vec<u32>, Vec<u64>) = by_cpu.into_iter().unzip();
        let columns = into.columns(&cpus);
        let name = format!("{state} {what}");
        into.counter(Row { name: &name, label: "", unit, kind: Kind::Grows }, &columns, &values);
    }
}
