//! CPUs that the scheduler balances apart or not at all, and who lives there.

use machine::isolation::{Residents, SetBy};
use machine::wording::counted;
use machine::{CpuSet, Machine};

use super::lines::wrapped;
use super::quantities::cpus;
use crate::visible::one_line;

/// Most cgroups of each kind that have a line.
const MOST_LINES: usize = 16;

/// What took CPUs out of balancing.
pub(super) fn set_by(by: &SetBy) -> String {
    match by {
        SetBy::Boot => "isolcpus=".into(),
        SetBy::Partition { cgroup } => format!("partition {}", one_line(cgroup)),
        SetBy::LoadBalanceOff { cgroup } => format!("cpuset {} without load balancing", one_line(cgroup)),
        SetBy::Unseen => "something that cannot be seen from here".into(),
    }
}

/// The isolated CPUs with what isolates them; `None` where that is not known.
pub(super) fn words(machine: &Machine) -> Option<String> {
    let all = machine.isolated()?;
    let sets = &machine.isolation.sets;
    if all.is_empty() {
        return Some("none".into());
    }
    let explained: CpuSet = machine.isolation.cpus();
    if sets.len() > MOST_LINES || !all.is_subset(&explained) {
        return Some(cpus(&all));
    }
    let each: Vec<String> =
        sets.iter().map(|set| format!("{} ({})", cpus(&set.cpus), set_by(&set.by))).collect();
    Some(each.join(", "))
}

/// A line for each cgroup that sets CPUs apart: who lives there, what is balanced within, and what is not in force.
pub(super) fn lines(machine: &Machine) -> String {
    let isolation = &machine.isolation;
    let line = |start: String, words: String| wrapped(&format!("  {start}  "), &words, 6);
    let lived_in = isolation.sets.iter().filter_map(|set| Some((set_by(&set.by), set.residents.as_ref()?)));
    let mut text = listed(lived_in.map(|(by, residents)| line(by, residents_words(residents))));
    text += &listed(isolation.domains.iter().map(|domain| {
        let words = format!("{}: a scheduling domain of its own, balanced within", cpus(&domain.cpus));
        line(format!("partition {}", one_line(&domain.cgroup)), words)
    }));
    text += &listed(isolation.invalid.iter().map(|invalid| {
        let why = invalid.why.as_deref().unwrap_or("the kernel gives no reason");
        let words = format!("is not in force as requested ({}): {why}", invalid.asked.word());
        line(format!("partition {}", one_line(&invalid.cgroup)), words)
    }));
    text
}

fn listed(lines: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = lines.collect();
    let mut text = all.iter().take(MOST_LINES).map(String::as_str).collect::<String>();
    if let Some(more) = all.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        text.push_str(&format!("  and {more} more of these\n"));
    }
    text
}

fn residents_words(residents: &Residents) -> String {
    let mut named: Vec<String> =
        residents.first.iter().map(|process| format!("{} {}", process.comm, process.pid)).collect();
    if named.is_empty() {
        return counted(residents.count, "process");
    }
    if residents.count > named.len() {
        named.push("...".into());
    }
    format!("{}: {}", counted(residents.count, "process"), named.join(", "))
}

#[cfg(test)]
mod tests {
    use machine::isolation::{Domain, InvalidPartition, PartitionKind, Resident, SetApart};

    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    fn machine() -> Machine {
        let mut machine = Machine::default();
        machine.kernel.isolated = Some(set("1"));
        let resident = Resident { pid: 700, comm: "engine".into() };
        machine.isolation.sets = vec![
            SetApart { by: SetBy::Boot, cpus: set("1"), residents: None },
            SetApart {
                by: SetBy::Partition { cgroup: "/rt".into() },
                cpus: set("2-3"),
                residents: Some(Residents { count: 2, first: vec![resident] }),
            },
        ];
        machine
    }

    #[test]
    fn each_set_is_named_with_what_isolates_it() {
        assert_eq!(words(&machine()).as_deref(), Some("CPU 1 (isolcpus=), CPUs 2-3 (partition /rt)"));
        let mut machine = machine();
        machine.isolation.sets.truncate(1);
        machine.isolation.sets[0].by = SetBy::LoadBalanceOff { cgroup: "/a".into() };
        assert_eq!(words(&machine).as_deref(), Some("CPU 1 (cpuset /a without load balancing)"));
        machine.isolation.sets.clear();
        assert_eq!(words(&machine).as_deref(), Some("CPU 1"), "nothing says by what");
        machine.kernel.isolated = Some(CpuSet::new());
        assert_eq!(words(&machine).as_deref(), Some("none"));
        machine.kernel.isolated = None;
        assert_eq!(words(&machine), None);
    }

    #[test]
    fn who_lives_there_and_what_is_not_isolated() {
        let mut machine = machine();
        machine.isolation.domains = vec![Domain { cgroup: "/web".into(), cpus: set("4-5") }];
        machine.isolation.invalid = vec![InvalidPartition {
            cgroup: "/x\x1b[2J".into(),
            asked: PartitionKind::Isolated,
            why: Some("Cpu list not exclusive".into()),
        }];
        let text = lines(&machine);
        for line in [
            "  partition /rt  2 processes: engine 700, ...\n",
            "  partition /web  CPUs 4-5: a scheduling domain of its own, balanced within\n",
            "is not in force as requested (isolated): Cpu list not exclusive\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains('\x1b'), "{text}");
        assert_eq!(lines(&Machine::default()), "");
    }

    #[test]
    fn hundreds_of_partitions_are_summed_up() {
        let mut machine = Machine::default();
        let domain = |n: u32| Domain { cgroup: format!("/{n}"), cpus: CpuSet::single(n) };
        machine.isolation.domains = (0..100).map(domain).collect();
        assert!(lines(&machine).ends_with("  and 84 more of these\n"));
    }
}
