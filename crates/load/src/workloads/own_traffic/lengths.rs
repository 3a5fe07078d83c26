//! How long requests took from their arrival to their answer, out of the lengths of waits and services by steps. Pure.
//!
//! The kernel sorts them into steps, of which four are to a power of two. Within a step they are taken to lie evenly: a length is off by
//! less than the width of its step, which is 25 % at most and a few percent mostly, and the same requests always give the same lengths.

use probe::account::Distribution;

use crate::outcome::latency::Latency;

/// Points over which the stretches of a step are spread at most.
const POINTS: u64 = 16;

/// A length, ns, and how often it came.
type Point = (u64, u64);

/// Latencies of requests that took so long.
pub(super) fn latency(took: &Distribution) -> Latency {
    let mut latency = Latency::new();
    for (ns, count) in spread(took) {
        latency.record_many_ns(ns, count);
    }
    latency
}

/// Lengths in rising order.
fn spread(of: &Distribution) -> Vec<Point> {
    of.steps().flat_map(|(shortest_ns, longest_ns, count)| within(shortest_ns, longest_ns, count)).collect()
}

/// The stretches of one step.
fn within(shortest_ns: u64, longest_ns: u64, count: u64) -> impl Iterator<Item = Point> {
    // The last step has no end.
    let width_ns = if longest_ns == u64::MAX { 0 } else { longest_ns.saturating_sub(shortest_ns) };
    let points = count.min(POINTS);
    let part = |whole: u64, numerator: u64, denominator: u64| {
        (u128::from(whole) * u128::from(numerator) / u128::from(denominator.max(1))) as u64
    };
    (0..points).map(move |point| {
        let ns = shortest_ns.saturating_add(part(width_ns, 2 * point + 1, 2 * points));
        (ns, part(count, point + 1, points) - part(count, point, points))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A distribution as a record has it: steps with their counts.
    fn distribution(steps: &[(usize, u64)]) -> Distribution {
        serde_json::from_str(&serde_json::to_string(steps).unwrap()).unwrap()
    }

    fn count(points: &[Point]) -> u64 {
        points.iter().map(|(_, count)| count).sum()
    }

    #[test]
    fn stretches_lie_evenly_within_their_step() {
        assert_eq!(within(1_000, 1_200, 2).collect::<Vec<_>>(), [(1_050, 1), (1_150, 1)]);
        assert_eq!(within(1_000, 1_200, 1).collect::<Vec<_>>(), [(1_100, 1)]);
        let many: Vec<Point> = within(1_000, 1_200, 1_000).collect();
        assert_eq!((many.len(), count(&many)), (16, 1_000));
        assert_eq!(within(9, u64::MAX, 3).map(|(ns, _)| ns).collect::<Vec<_>>(), [9, 9, 9]);
    }

    #[test]
    fn a_quantile_moves_with_every_request_and_is_within_its_step() {
        // Step 80 begins at 2^20 ns; the next one 25 % above.
        let p99 =
            |slow: u64| latency(&distribution(&[(60, 1_000 - slow), (80, slow)])).figures()["latency_p99_us"];
        let (few, more) = (p99(12), p99(40));
        assert!(few >= 1_048.0 && more < 1_311.0 && more > few, "{few} {more}");
    }

    proptest! {
        #[test]
        fn there_are_as_many_latencies_as_requests(
            steps in prop::collection::vec((8usize..160, 1u64..2_000_000), 0..20),
        ) {
            let took = distribution(&steps);
            prop_assert_eq!(latency(&took).count(), took.count());
            let points = spread(&took);
            prop_assert_eq!(count(&points), took.count());
            prop_assert!(points.is_sorted_by_key(|(ns, _)| *ns));
        }
    }
}
