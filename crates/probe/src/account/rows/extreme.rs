//! The longest or the shortest of some stretches, as far as it is known.

/// A length, or a bound of it: at most for the longest, at least for the shortest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// It is known, ns.
    Exactly(u64),
    /// It does not lie beyond, ns.
    Bound(u64),
}

impl Extreme {
    /// Out of the two fields in which it is kept.
    pub(in crate::account) fn of(exactly_ns: Option<u64>, bound_ns: Option<u64>) -> Option<Self> {
        exactly_ns.map(Self::Exactly).or(bound_ns.map(Self::Bound))
    }

    /// The two fields again.
    pub(in crate::account) fn apart(extreme: Option<Self>) -> (Option<u64>, Option<u64>) {
        match extreme {
            Some(Self::Exactly(ns)) => (Some(ns), None),
            Some(Self::Bound(ns)) => (None, Some(ns)),
            None => (None, None),
        }
    }

    /// The length or the bound, ns.
    pub fn ns(self) -> u64 {
        match self {
            Self::Exactly(ns) | Self::Bound(ns) => ns,
        }
    }

    fn is_exact(self) -> bool {
        matches!(self, Self::Exactly(_))
    }

    /// The same where another bound of the longest is known.
    pub(in crate::account) fn no_longer_than(self, bound_ns: u64) -> Self {
        match self {
            Self::Bound(ns) => Self::Bound(ns.min(bound_ns)),
            exact => exact,
        }
    }

    /// The longest of two sets; not known where that of one is not.
    pub(in crate::account) fn longer(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (one, other) = one.zip(other)?;
        let rank = |extreme: Self| (extreme.ns(), extreme.is_exact());
        Some(if rank(one) >= rank(other) { one } else { other })
    }

    /// The shortest of two sets; likewise.
    pub(in crate::account) fn shorter(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (one, other) = one.zip(other)?;
        let rank = |extreme: Self| (extreme.ns(), !extreme.is_exact());
        Some(if rank(one) <= rank(other) { one } else { other })
    }
}

#[cfg(test)]
mod tests {
    use super::Extreme::{Bound, Exactly};
    use super::*;

    #[test]
    fn a_length_above_the_bound_of_others_is_the_longest_of_all() {
        assert_eq!(Extreme::longer(Some(Exactly(7)), Some(Bound(7))), Some(Exactly(7)));
        assert_eq!(Extreme::longer(Some(Exactly(6)), Some(Bound(7))), Some(Bound(7)));
        assert_eq!(Extreme::shorter(Some(Bound(3)), Some(Exactly(3))), Some(Exactly(3)));
        assert_eq!(Extreme::shorter(Some(Bound(2)), Some(Exactly(3))), Some(Bound(2)));
        assert_eq!(Extreme::longer(Some(Exactly(6)), None), None);
    }

    #[test]
    fn it_is_kept_in_two_fields() {
        for extreme in [None, Some(Exactly(1)), Some(Bound(2))] {
            let (exactly_ns, bound_ns) = Extreme::apart(extreme);
            assert_eq!(Extreme::of(exactly_ns, bound_ns), extreme);
        }
    }
}
