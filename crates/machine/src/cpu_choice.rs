//! CPUs in words: `0-3`, `node:1`, `!node:0`, `node:0,!siblings`, `nohz_full:0`; so that a recipe fits machines of every size.

use crate::topology::cpus::Cpu;
use crate::{Class, CpuSet, Fault, Machine};

/// How a choice is written, for remedies.
pub const FORM: &str = "write a CPU list (0-3,8), all, node:N, package:N, or a range of those (node:0-1), isolated, nohz_full, or the Nth of those from 0 on (nohz_full:0); ! before a term takes it away, and !siblings leaves one thread a core";

/// How a machine gets CPUs that it has none of.
const BOOT: &str = "boot with isolcpus=LIST nohz_full=LIST rcu_nocbs=LIST ('pinwise rehearse' tries it in a guest), or leave this out";

/// The CPUs that `text` means on `machine`, among those that this process may use.
///
/// Terms stand between commas and are taken in order: each adds, and with `!` before it takes away; a choice that begins by
/// taking away begins with all. CPUs that are named by number must be usable; of nodes and packages the usable ones are taken.
/// `isolated` and `nohz_full` are those that the kernel was booted to keep apart: nothing may use them that does not ask for them, this
/// process neither, so of them all that are online are taken.
///
/// # Errors
/// A term that is none, a node or package that is not there, CPUs that may not be used, or nothing that is left; and, of class
/// `MachineLacks`, CPUs kept apart on a machine that keeps none.
pub fn resolve(text: &str, machine: &Machine) -> Result<CpuSet, Fault> {
    let usable = machine.usable();
    let mut chosen = if text.trim_start().starts_with('!') { usable.clone() } else { CpuSet::default() };
    for term in text.split(',').map(str::trim) {
        let (takes, word) = match term.strip_prefix('!') {
            Some(word) => (true, word),
            None => (false, term),
        };
        let meant = match word {
            "siblings" if takes => siblings(machine),
            _ => match kept_apart(word, machine).map_err(|why| wrong(text, why))? {
                Some(cpus) if cpus.is_empty() && !takes => return Err(none_kept_apart(text, word)),
                Some(cpus) => cpus,
                None => term_cpus(word, machine, &usable).map_err(|why| wrong(text, why))?,
            },
        };
        chosen = if takes { chosen.difference(&meant) } else { chosen.union(&meant) };
    }
    match chosen.is_empty() {
        true => Err(wrong(text, format!("leaves no CPU of those that may be used ({usable})"))),
        false => Ok(chosen),
    }
}

fn wrong(text: &str, why: String) -> Fault {
    Fault::new(Class::Usage, format!("CPUs '{text}'"), why, FORM)
}

fn none_kept_apart(text: &str, kind: &str) -> Fault {
    let cause = format!("no CPU of this machine is {}", kind.split(':').next().unwrap_or(kind));
    Fault::new(Class::MachineLacks, format!("CPUs '{text}'"), cause, BOOT)
}

/// The CPUs of a term that names those that the kernel keeps apart, an empty set where it keeps none; `None` for every other term.
fn kept_apart(word: &str, machine: &Machine) -> Result<Option<CpuSet>, String> {
    let (kind, number) = match word.split_once(':') {
        Some((kind, number)) => (kind, Some(number)),
        None => (word, None),
    };
    let known = match kind {
        "isolated" => &machine.kernel.isolated,
        "nohz_full" => &machine.kernel.nohz_full,
        _ => return Ok(None),
    };
    let cpus = known.clone().unwrap_or_default().intersection(&machine.online());
    let Some(number) = number.filter(|_| !cpus.is_empty()) else { return Ok(Some(cpus)) };
    let places = CpuSet::from_list(number).map_err(|why| why.to_string())?;
    let chosen: CpuSet =
        (0..).zip(cpus.iter()).filter(|(place, _)| places.contains(*place)).map(|(_, cpu)| cpu).collect();
    match chosen.len() == places.len() {
        true => Ok(Some(chosen)),
        false => Err(format!("{} CPUs are {kind} ({cpus}), counted from 0 on", cpus.len())),
    }
}

/// The usable CPUs of one term.
fn term_cpus(word: &str, machine: &Machine, usable: &CpuSet) -> Result<CpuSet, String> {
    if word == "all" {
        return Ok(usable.clone());
    }
    let Some((kind, numbers)) = word.split_once(':') else {
        let listed = CpuSet::from_list(word).map_err(|why| why.to_string())?;
        let outside = listed.difference(usable);
        return match outside.is_empty() {
            true => Ok(listed),
            false => Err(format!(
                "{outside} may not be used here: not there, offline, or not allowed (allowed: {usable})"
            )),
        };
    };
    let numbers = CpuSet::from_list(numbers).map_err(|why| why.to_string())?;
    let groups: Vec<(u32, &CpuSet)> = match kind {
        "node" => machine.nodes.iter().map(|node| (node.id, &node.cpus)).collect(),
        "package" => (0..).zip(&machine.packages).collect(),
        _ => return Err(format!("'{kind}' is no kind of group")),
    };
    let mut cpus = CpuSet::default();
    for number in numbers.iter() {
        let known: Vec<u32> = groups.iter().map(|(id, _)| *id).collect();
        let (_, members) = groups
            .iter()
            .find(|(id, _)| *id == number)
            .ok_or_else(|| format!("there is no {kind} {number} (there are: {known:?})"))?;
        cpus = cpus.union(&members.intersection(usable));
    }
    Ok(cpus)
}

/// All usable threads but the first of each core.
fn siblings(machine: &Machine) -> CpuSet {
    let usable = machine.usable();
    let first_of = |cpu: &Cpu| cpu.siblings.as_ref().and_then(|all| all.intersection(&usable).first());
    let others = machine.cpus.iter().filter(|cpu| first_of(cpu).is_some_and(|first| first != cpu.id));
    others.fold(CpuSet::default(), |set, cpu| set.union(&CpuSet::single(cpu.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::nodes::Node;

    /// Two nodes of two cores of two threads; CPU n and n + 4 are of one core, and the nodes' numbers have a hole.
    fn machine() -> Machine {
        let set = |list: &str| CpuSet::from_list(list).unwrap();
        let cpu = |id: u32| Cpu {
            id,
            online: true,
            allowed: Some(id != 7),
            siblings: Some(set(&format!("{},{}", id % 4, id % 4 + 4))),
            ..Cpu::default()
        };
        let node = |id, cpus: &str| Node { id, cpus: set(cpus), ..Node::default() };
        Machine {
            cpus: (0..8).map(cpu).collect(),
            nodes: vec![node(0, "0-1,4-5"), node(2, "2-3,6-7")],
            packages: vec![set("0-7")],
            ..Machine::default()
        }
    }

    fn chosen(text: &str) -> String {
        match resolve(text, &machine()) {
            Ok(cpus) => cpus.to_list(),
            Err(fault) => fault.cause,
        }
    }

    #[test]
    fn terms_add_and_take_away_in_order() {
        assert_eq!(chosen("0-1,4"), "0-1,4");
        assert_eq!(chosen("node:2"), "2-3,6");
        assert_eq!(chosen("!node:0"), "2-3,6");
        assert_eq!(chosen("node:0,!siblings"), "0-1");
        assert_eq!(chosen("all,!siblings, !0"), "1-3");
        assert_eq!(chosen("package:0"), "0-6");
        assert_eq!(chosen("!node:0,0"), "0,2-3,6");
    }

    #[test]
    fn a_sibling_whose_first_thread_may_not_be_used_is_the_first() {
        let mut machine = machine();
        machine.cpus[1].allowed = Some(false);
        assert_eq!(resolve("all,!siblings", &machine).unwrap().to_list(), "0,2-3,5");
    }

    #[test]
    fn cpus_that_the_kernel_keeps_apart_are_had_by_name_although_nobody_may_use_them_unasked() {
        let mut machine = machine();
        for text in ["nohz_full", "nohz_full:0", "0,isolated"] {
            assert_eq!(resolve(text, &machine).unwrap_err().class, Class::MachineLacks, "{text}");
        }
        assert_eq!(resolve("!isolated", &machine).unwrap().to_list(), "0-6");
        machine.kernel.isolated = Some(CpuSet::from_list("5-7").unwrap());
        machine.kernel.nohz_full = Some(CpuSet::from_list("6-7").unwrap());
        let chosen = |text: &str| resolve(text, &machine).unwrap().to_list();
        assert_eq!([chosen("nohz_full"), chosen("nohz_full:1"), chosen("isolated:0-1")], ["6-7", "7", "5-6"]);
        assert_eq!([chosen("isolated,!nohz_full"), chosen("!isolated")], ["5", "0-4"]);
        assert!(resolve("nohz_full:2", &machine).unwrap_err().cause.contains("2 CPUs are nohz_full (6-7)"));
        assert!(resolve("nohz_full:x", &machine).is_err());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            ("7", "may not be used"),
            ("node:1", "no node 1 (there are: [0, 2])"),
            ("die:0", "no kind of group"),
            ("all,!node:0,!node:2", "leaves no CPU"),
            ("", ""),
            ("node:x", ""),
        ] {
            let fault = resolve(text, &machine()).unwrap_err();
            assert!(fault.cause.contains(why) && fault.object.contains(text), "{fault}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_and_what_it_gives_may_be_used(text in "[!a-z:0-9,-]{0,24}") {
            if let Ok(cpus) = resolve(&text, &machine()) {
                proptest::prop_assert!(cpus.is_subset(&machine().usable()) && !cpus.is_empty());
            }
        }
    }
}
