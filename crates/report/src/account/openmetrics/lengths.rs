//! Lengths in buckets, as histograms have them.

use probe::account::{Distribution, Stretches};

/// Lengths below 2 to the power of this, ns, are in the first bucket: 256 ns.
const FIRST_BITS: usize = 8;

/// Buckets with an upper edge; the last is 2 to the power of 34 ns, 17 s.
const BUCKETS: usize = 27;

/// How many stretches were at most so long, since the start.
///
/// Each bucket ends 1 ns below a power of two, and the kernel's steps lie within those: each length is in the bucket where it belongs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lengths {
    buckets: [u64; BUCKETS],
    /// Longer than the last edge.
    longer: u64,
    /// All together, ns; one that goes on as far as it went.
    total_ns: u64,
}

impl Lengths {
    /// Adds those of an interval, with their time.
    pub(super) fn add(&mut self, lengths: &Distribution, total_ns: u64) {
        for (_, longest_ns, count) in lengths.steps() {
            let sum = self.buckets.get_mut(bucket_of(longest_ns)).unwrap_or(&mut self.longer);
            *sum = sum.saturating_add(count);
        }
        self.total_ns = self.total_ns.saturating_add(total_ns);
    }

    /// Adds those of an interval, with the time of the stretches that were sorted.
    pub(super) fn add_of(&mut self, lengths: &Distribution, stretches: &[&Stretches]) {
        let total_ns = stretches.iter().map(|part| part.total_ns).fold(0, u64::saturating_add);
        self.add(lengths, total_ns);
    }

    /// How many were at most as long as each edge, ns.
    pub(super) fn up_to_edges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().enumerate().scan(0_u64, |sum, (bucket, count)| {
            *sum = sum.saturating_add(*count);
            Some((edge_ns(bucket), *sum))
        })
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().fold(self.longer, |sum, count| sum.saturating_add(*count))
    }

    /// Their time, ns.
    pub(super) fn total_ns(&self) -> u64 {
        self.total_ns
    }
}

/// The longest length of a bucket, ns.
fn edge_ns(bucket: usize) -> u64 {
    (1 << (FIRST_BITS + bucket)) - 1
}

/// The bucket of a length; beyond the last where there is none.
fn bucket_of(ns: u64) -> usize {
    let bits = (u64::BITS - ns.leading_zeros()) as usize;
    bits.saturating_sub(FIRST_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_length_is_in_the_first_bucket_that_it_fits_into() {
        for (ns, edge) in
            [(0, 255), (255, 255), (256, 511), (511, 511), (512, 1_023), (1 << 33, (1 << 34) - 1)]
        {
            assert_eq!(edge_ns(bucket_of(ns)), edge, "{ns}");
        }
        assert_eq!(bucket_of((1 << 34) - 1), BUCKETS - 1);
        for beyond in [1 << 34, u64::MAX] {
            assert!(bucket_of(beyond) >= BUCKETS);
        }
    }

    #[test]
    fn buckets_are_cumulative_and_the_longest_are_in_none_with_an_edge() {
        // Steps by number: 40 is 1,024 to 1,279 ns, 159 the last, without an end.
        let some: Distribution = serde_json::from_str("[[2,3],[40,2],[159,1]]").unwrap();
        let mut lengths = Lengths::default();
        lengths.add(&some, 9_000);
        lengths.add(&some, 1_000);
        let edges: Vec<(u64, u64)> = lengths.up_to_edges().collect();
        assert_eq!((edges[0], edges[2], edges[3]), ((255, 6), (1_023, 6), (2_047, 10)));
        assert_eq!(edges.last().map(|(_, sum)| *sum), Some(10));
        assert_eq!((lengths.count(), lengths.total_ns()), (12, 10_000));
    }
}
