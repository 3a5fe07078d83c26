//! Values in words.

use machine::CpuSet;

/// A size: `15.6 GiB`, `268 MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    match size.fract() == 0.0 || size >= 100.0 {
        true => format!("{size:.0} {}", UNITS[unit]),
        false => format!("{size:.1} {}", UNITS[unit]),
    }
}

/// A frequency: `3.35 GHz`.
pub(super) fn frequency(khz: u64) -> String {
    format!("{:.2} GHz", khz as f64 / 1e6)
}

/// CPUs as a mask of a setting means them: `any CPU` where all that are online are in it.
pub(super) fn cpus(set: &CpuSet, online: &CpuSet) -> String {
    match (set.is_empty(), online.is_subset(set)) {
        (true, _) => "none".into(),
        (_, true) => "any CPU".into(),
        _ => set.to_list(),
    }
}

/// A list in which equal neighbours are one: `2 x 0-1, any CPU`; only the value where all are equal.
pub(super) fn runs(items: &[String]) -> String {
    if let Some(first) = items.first()
        && items.iter().all(|item| item == first)
    {
        return first.clone();
    }
    let runs = items.chunk_by(|a, b| a == b).filter_map(|run| Some((run.first()?, run.len())));
    let words = runs.map(|(item, count)| if count == 1 { item.clone() } else { format!("{count} x {item}") });
    words.collect::<Vec<_>>().join(", ")
}

/// The number at the end of a name, so that `rx-10` comes after `rx-9`.
pub(super) fn trailing_number(name: &str) -> u64 {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[name.len() - digits..].parse().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_runs_and_numbers() {
        let sizes = [0, 1023, 1024, 1536, 280_637_440, 25_276_514_304, u64::MAX].map(bytes);
        assert_eq!(sizes, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "268 MiB", "23.5 GiB", "16384 PiB"]);
        let items = ["0-1", "0-1", "2"].map(String::from);
        assert_eq!(
            (runs(&items), runs(&items[..2]), runs(&[])),
            ("2 x 0-1, 2".into(), "0-1".into(), "".into())
        );
        assert_eq!(["rx-10", "rx-", "7"].map(trailing_number), [10, u64::MAX, 7]);
        let online: CpuSet = (0..4).collect();
        let [all, some] = [0..8, 1..3].map(|range| range.collect::<CpuSet>());
        assert_eq!(
            [cpus(&all, &online), cpus(&some, &online), cpus(&CpuSet::new(), &online)],
            ["any CPU", "1-2", "none"]
        );
    }
}
