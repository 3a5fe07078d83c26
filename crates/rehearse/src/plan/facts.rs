//! What a plan changes, apart from what moves from boot to boot by itself. Pure.

use machine::diff::{self, Difference};

use super::verdict::Seen;

/// What was requested, and which words the kernel took: the checks report these.
const ASKED: [&str; 4] =
    ["kernel.boot", "kernel.cmdline", "kernel.module_parameters", "kernel.unknown_parameters"];

/// Differences between the three boots.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// As with the plan, and not as before it, in the second boot without it.
    pub(super) left_over: Vec<Difference>,
    /// Other facts that differ between the two boots without the plan.
    pub(super) moves_by_itself: Vec<Difference>,
    /// Changed by the plan.
    pub(super) changed: Vec<Difference>,
}

/// Compares the boots. The two without the plan have the same inputs: where they differ, the fact says nothing about the
/// plan, unless the second one shows exactly what it was under the plan.
pub(super) fn compare(seen: &Seen<'_>) -> Result<Facts, String> {
    let mut changed = steady(diff::between(seen.before, seen.with)?);
    let (left_over, moves_by_itself): (Vec<_>, Vec<_>) =
        steady(diff::between(seen.before, seen.after)?).into_iter().partition(|fact| changed.contains(fact));
    changed.retain(|difference| {
        let asked = ASKED.iter().any(|fact| difference.fact.starts_with(fact));
        !asked && !moves_by_itself.iter().any(|moving| moving.fact == difference.fact)
    });
    Ok(Facts { left_over, moves_by_itself, changed })
}

/// Differences that do not come and go from boot to boot by themselves, as do memory that firmware and kernel take,
/// kernel threads that happen to be there, and links that are about to come up.
fn steady(differences: Vec<Difference>) -> Vec<Difference> {
    let moves = |fact: &str| {
        ["memory", "kernel_threads", "missing", "virtualization"].iter().any(|part| fact.starts_with(part))
            || fact.ends_with("memory_bytes")
            || fact.ends_with(".state")
            || fact.contains("min_free_kbytes")
    };
    differences.into_iter().filter(|difference| !moves(&difference.fact)).collect()
}

#[cfg(test)]
mod tests {
    use machine::{CpuSet, Machine};

    use super::*;

    /// A machine with these CPUs in nohz_full and this clock source.
    fn machine(nohz_full: Option<u32>, clocksource: &str) -> Machine {
        let mut machine = Machine::default();
        machine.kernel.nohz_full = nohz_full.map(CpuSet::single);
        machine.kernel.clocksource = Some(clocksource.into());
        machine
    }

    fn of([before, with, after]: [&Machine; 3]) -> Facts {
        compare(&Seen { before, with, after, without_tick: Vec::new(), control: None }).unwrap()
    }

    fn names(differences: &[Difference]) -> Vec<&str> {
        differences.iter().map(|difference| difference.fact.as_str()).collect()
    }

    #[test]
    fn what_stays_as_the_plan_made_it_is_left_over() {
        let [before, with] = [machine(None, "tsc"), machine(Some(2), "tsc")];
        let mut after = with.clone();
        after.memory_bytes = Some(1);
        let facts = of([&before, &with, &after]);
        assert_eq!(names(&facts.left_over), ["kernel.nohz_full"]);
        assert!(facts.moves_by_itself.is_empty(), "{facts:?}");
        let mut with = with;
        with.kernel.unknown_parameters = Some(vec!["nohz_ful".into()]);
        let undone = of([&before, &with, &before]);
        assert!(undone.left_over.is_empty() && undone.moves_by_itself.is_empty(), "{undone:?}");
        assert_eq!(names(&undone.changed), ["kernel.nohz_full"]);
    }

    #[test]
    fn what_moves_by_itself_does_not_count_against_the_plan() {
        let boots = [machine(None, "tsc"), machine(Some(2), "hpet"), machine(None, "acpi_pm")];
        let facts = of([&boots[0], &boots[1], &boots[2]]);
        assert_eq!(names(&facts.moves_by_itself), ["kernel.clocksource"]);
        assert_eq!(names(&facts.changed), ["kernel.nohz_full"]);
        assert!(facts.left_over.is_empty());
    }
}
