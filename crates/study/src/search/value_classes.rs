//! Which measured values count as the same: noise must not break a symmetry, and a real difference must.

/// Gives each value the number of its class, 0 for the smallest: two neighbours in order are of one class when they
/// differ by no more than the factor `within`. Values that are not above 0 are of a class of their own kind.
pub(crate) fn classes(values: &[f64], within: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut classes = vec![0; values.len()];
    let mut class = 0;
    for pair in order.windows(2) {
        let (low, high) = (values[pair[0]], values[pair[1]]);
        let same = low == high || (low > 0.0 && high <= low * within);
        class += usize::from(!same);
        classes[pair[1]] = class;
    }
    classes
}

/// The least interrupts since boot, or a second, from which their spread says anything.
const FEWEST_SINCE_BOOT: f64 = 10_000.0;
const FEWEST_A_SECOND: f64 = 100.0;

/// How heavily each CPU is loaded by interrupts: 0 up to twice the even share, then one more for each doubling.
///
/// `counts` are interrupts by CPU, since boot or a second; with too few in all every class is 0.
pub(crate) fn load_classes(counts: &[f64], a_second: bool) -> Vec<u32> {
    let total: f64 = counts.iter().sum();
    let fewest = if a_second { FEWEST_A_SECOND } else { FEWEST_SINCE_BOOT };
    if total < fewest {
        return vec![0; counts.len()];
    }
    let even = total / counts.len() as f64;
    let class = |count: &f64| if *count < 2.0 * even { 0 } else { (count / even).log2().floor() as u32 };
    counts.iter().map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_joins_and_a_gap_parts() {
        assert_eq!(classes(&[100.0, 180.0, 103.0, 0.0, 178.0], 1.1), [1, 2, 1, 0, 2]);
        assert!(classes(&[], 1.1).is_empty());
    }

    #[test]
    fn interrupts_of_the_published_machine_mark_two_cpus() {
        // corsair: ahci, p7p1-rx-0 and p7p1-tx-0 together.
        let counts =
            [27472., 25657., 81300., 0., 6288., 457178., 222319., 45423., 0., 0., 0., 0., 0., 0., 0., 0.];
        let classes = load_classes(&counts, false);
        let marked: Vec<usize> = (0..16).filter(|cpu| classes[*cpu] > 0).collect();
        assert_eq!(marked, [5, 6]);
        assert_ne!(classes[5], classes[6]);
        assert_eq!(load_classes(&[50.0, 0.0], true), [0, 0]);
    }
}
