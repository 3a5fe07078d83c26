//! Sets of CPUs and sizes in words.

use machine::CpuSet;

/// `CPU 3`, `CPUs 0-3,8`, `CPUs 0,4,8,...,76`, `no CPUs`.
pub(crate) fn cpus(set: &CpuSet) -> String {
    match set.len() {
        0 => "no CPUs".into(),
        1 => format!("CPU {set}"),
        _ => format!("CPUs {}", list(set)),
    }
}

/// `0-3,8`, `0,4,8,...,76`.
pub(super) fn list(set: &CpuSet) -> String {
    stepped(set).unwrap_or_else(|| set.to_list())
}

/// Sets with a fixed step above 1, as machines have them that number their packages in turn: `0,4,8,...,76`.
fn stepped(set: &CpuSet) -> Option<String> {
    let all: Vec<u32> = set.iter().collect();
    let step = all.get(1)? - all.first()?;
    let regular = all.windows(2).all(|pair| pair[1] - pair[0] == step);
    let last = all.last()?;
    (regular && step > 1 && all.len() > 5).then(|| format!("{},{},{},...,{last}", all[0], all[1], all[2]))
}

/// A size in the largest binary unit that it fills, with as many decimals as say something: `48 KiB`, `1.25 MiB`,
/// `23.5 GiB`, `8 GiB` also for a little less.
pub fn size(bytes: u64) -> String {
    let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((name, unit)) = units.iter().find(|(_, unit)| bytes >= *unit) else {
        return format!("{bytes} B");
    };
    let count = bytes as f64 / *unit as f64;
    // Two decimals where they are exact, as caches have them; memory that firmware took a part of needs but one.
    let text = match (count * 4.0).fract() == 0.0 {
        true => format!("{count:.2}"),
        false => format!("{count:.1}"),
    };
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_sets_read_well() {
        assert_eq!(size(48 << 10), "48 KiB");
        assert_eq!(size((23 << 30) + (1 << 29)), "23.5 GiB");
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1280 << 10), "1.25 MiB");
        assert_eq!((size((8 << 30) - (10 << 20)), size(100 << 30)), ("8 GiB".into(), "100 GiB".into()));
        assert_eq!(cpus(&CpuSet::new()), "no CPUs");
        assert_eq!(cpus(&CpuSet::single(3)), "CPU 3");
        assert_eq!(cpus(&(0..20).map(|n| n * 4).collect()), "CPUs 0,4,8,...,76");
        assert_eq!(cpus(&[0, 2, 4, 8, 10, 12].into_iter().collect()), "CPUs 0,2,4,8,10,12");
    }
}
