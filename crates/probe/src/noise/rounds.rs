//! Which CPUs are measured at the same time.

use machine::CpuSet;

/// Rounds in which no two siblings of a core are measured; all at once when `together`. CPUs whose core is not known are
/// taken to have it for themselves.
pub(super) fn rounds(cpus: &CpuSet, cores: &[CpuSet], together: bool) -> Vec<CpuSet> {
    if together {
        return vec![cpus.clone()];
    }
    let mut rounds: Vec<CpuSet> = Vec::new();
    for cpu in cpus.iter() {
        let core = cores.iter().find(|core| core.contains(cpu));
        let free = |round: &&mut CpuSet| core.is_none_or(|core| core.intersection(round).is_empty());
        match rounds.iter_mut().find(free) {
            Some(round) => {
                round.insert(cpu);
            }
            None => rounds.push(CpuSet::single(cpu)),
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    #[test]
    fn siblings_are_in_different_rounds() {
        let cores = [set("0,4"), set("1,5"), set("2,6,10")];
        assert_eq!(rounds(&set("0-2,4-6,10"), &cores, false), [set("0-2"), set("4-6"), set("10")]);
        assert_eq!(rounds(&set("4,1"), &cores, false), [set("1,4")]);
        assert_eq!(rounds(&set("0,4"), &cores, true), [set("0,4")]);
        assert_eq!(rounds(&set("0-3"), &[], false), [set("0-3")]);
    }
}
