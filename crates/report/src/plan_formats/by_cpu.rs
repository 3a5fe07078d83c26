//! Settings of single CPUs, taken together for a set of them.

use std::collections::BTreeMap;

use machine::{CpuSet, Planned, PlannedActs};

/// The number of a target such as `cpu3` or `policy3`.
pub(super) fn number(target: &str, prefix: &str) -> Option<u32> {
    target.strip_prefix(prefix)?.parse().ok()
}

/// Whether a setting of the knob is about one of `cpus`.
pub(super) fn is_about(planned: &Planned, knob: &str, prefix: &str, cpus: &CpuSet) -> bool {
    planned.knob == knob && number(&planned.target, prefix).is_some_and(|cpu| cpus.contains(cpu))
}

/// The value that the plan has for each of `cpus` alike; `None` where one has another value or none.
pub(super) fn alike<'a>(
    settings: &[&'a PlannedActs],
    knob: &str,
    prefix: &str,
    cpus: &CpuSet,
) -> Option<&'a str> {
    let of_knob = settings.iter().map(|one| &one.planned).filter(|planned| planned.knob == knob);
    let values: BTreeMap<u32, &'a str> = of_knob
        .filter_map(|planned| Some((number(&planned.target, prefix)?, planned.value.trim())))
        .collect();
    let first = *values.get(&cpus.first()?)?;
    cpus.iter().all(|cpu| values.get(&cpu) == Some(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_holds_for_a_set_where_each_of_its_cpus_has_it() {
        let of = |target: &str, value: &str| PlannedActs {
            planned: Planned {
                knob: "frequency-governor".into(),
                target: target.into(),
                value: value.into(),
                ..Planned::default()
            },
            acts: Ok(Vec::new()),
        };
        let all = [
            of("policy0", "powersave"),
            of("policy2", "performance"),
            of("policy3", "performance"),
            of("x", ""),
        ];
        let settings: Vec<&PlannedActs> = all.iter().collect();
        let cpus = |list: &str| CpuSet::from_list(list).unwrap();
        let alike = |list: &str| alike(&settings, "frequency-governor", "policy", &cpus(list));
        assert_eq!(alike("2-3"), Some("performance"));
        assert_eq!((alike("0,2"), alike("1-3"), alike("")), (None, None, None));
        assert!(is_about(&all[1].planned, "frequency-governor", "policy", &cpus("2-3")));
        assert!(!is_about(&all[0].planned, "frequency-governor", "policy", &cpus("2-3")));
    }
}
