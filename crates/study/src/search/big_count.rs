//! Whole numbers that may grow beyond any type, and series of them by size.

use std::fmt;

/// An exact count, or the plain word that it is too large to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    /// Exactly so many.
    Exact(u128),
    /// More than 2^128.
    More,
}

impl Count {
    /// None.
    pub const ZERO: Self = Count::Exact(0);
    /// One.
    pub const ONE: Self = Count::Exact(1);

    fn from_checked(number: Option<u128>) -> Self {
        number.map_or(Count::More, Count::Exact)
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Count::Exact(a), Count::Exact(b)) => Self::from_checked(a.checked_add(b)),
            _ => Count::More,
        }
    }

    /// The product; nothing times anything is nothing.
    pub fn times(self, other: Self) -> Self {
        match (self, other) {
            (Count::ZERO, _) | (_, Count::ZERO) => Count::ZERO,
            (Count::Exact(a), Count::Exact(b)) => Self::from_checked(a.checked_mul(b)),
            _ => Count::More,
        }
    }

    /// The quotient, where it is known to be whole.
    pub fn over(self, divisor: u128) -> Self {
        match self {
            Count::Exact(n) => Count::Exact(n / divisor.max(1)),
            Count::More => Count::More,
        }
    }

    /// `n` choose `k`.
    pub fn choose(n: usize, k: usize) -> Self {
        (0..k.min(n.saturating_sub(k))).fold(if k > n { Self::ZERO } else { Self::ONE }, |c, i| {
            c.times(Count::Exact((n - i) as u128)).over(i as u128 + 1)
        })
    }

    /// Whether it is at most `most`.
    pub fn within(self, most: usize) -> bool {
        self <= Count::Exact(most as u128)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Exact(n) if *n < 1_000_000 => write!(f, "{n}"),
            Count::Exact(n) => write!(f, "{:.2e}", *n as f64),
            Count::More => write!(f, "more than 3.4e38"),
        }
    }
}

/// How many of something there are of each size (server CPUs, load CPUs), up to the size of interest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Series {
    most: (usize, usize),
    terms: Vec<Count>,
}

impl Series {
    pub(crate) fn zero(most: (usize, usize)) -> Self {
        Self { most, terms: vec![Count::ZERO; (most.0 + 1) * (most.1 + 1)] }
    }

    pub(crate) fn one(most: (usize, usize)) -> Self {
        let mut series = Self::zero(most);
        series.add((0, 0), Count::ONE);
        series
    }

    /// How many there are of that size.
    pub(crate) fn at(&self, size: (usize, usize)) -> Count {
        match size.0 <= self.most.0 && size.1 <= self.most.1 {
            true => self.terms[size.0 * (self.most.1 + 1) + size.1],
            false => Count::ZERO,
        }
    }

    /// Adds some of that size; sizes beyond those of interest are left out.
    pub(crate) fn add(&mut self, size: (usize, usize), count: Count) {
        if size.0 <= self.most.0 && size.1 <= self.most.1 {
            let at = size.0 * (self.most.1 + 1) + size.1;
            self.terms[at] = self.terms[at].plus(count);
        }
    }

    fn present(&self) -> impl Iterator<Item = ((usize, usize), Count)> + '_ {
        let row = self.most.1 + 1;
        let present = self.terms.iter().enumerate().filter(|(_, count)| **count != Count::ZERO);
        present.map(move |(at, count)| ((at / row, at % row), *count))
    }

    /// One of these beside one of those.
    pub(crate) fn product(&self, other: &Self) -> Self {
        let mut product = Self::zero(self.most);
        let others: Vec<_> = other.present().collect();
        for ((s, l), count) in self.present() {
            for ((s2, l2), count2) in &others {
                product.add((s + s2, l + l2), count.times(*count2));
            }
        }
        product
    }

    /// `times` equal ones of each.
    pub(crate) fn repeated(&self, times: usize) -> Self {
        let mut repeated = Self::zero(self.most);
        for ((s, l), count) in self.present() {
            repeated.add((s * times, l * times), count);
        }
        repeated
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        other.present().for_each(|(size, count)| sum.add(size, count));
        sum
    }

    pub(crate) fn over(&self, divisor: u128) -> Self {
        Self { most: self.most, terms: self.terms.iter().map(|count| count.over(divisor)).collect() }
    }

    /// Multisets of exactly `members` of these, by the cycle index of the symmetric group (Polya):
    /// `h_m = (p_1 h_{m-1} + ... + p_m h_0) / m`, with `p_j` the series of `j` equal ones.
    pub(crate) fn multisets(&self, members: usize) -> Self {
        let powers: Vec<Self> = (1..=members).map(|j| self.repeated(j)).collect();
        let mut of = vec![Self::one(self.most)];
        for m in 1..=members {
            let sum =
                (1..=m).fold(Self::zero(self.most), |sum, j| sum.plus(&powers[j - 1].product(&of[m - j])));
            of.push(sum.over(m as u128));
        }
        of.swap_remove(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomials_and_too_large_ones() {
        assert_eq!(Count::choose(64, 8), Count::Exact(4_426_165_368));
        assert_eq!(Count::choose(3, 5), Count::ZERO);
        assert_eq!(Count::choose(5, 5), Count::ONE);
        assert_eq!(Count::choose(256, 128), Count::More);
        assert_eq!(Count::More.times(Count::ZERO), Count::ZERO);
        assert_eq!(Count::choose(64, 8).to_string(), "4.43e9");
    }

    #[test]
    fn multisets_of_two_kinds_are_counted_by_size() {
        // A CPU that is used or not: 5 alike have one multiset of each size.
        let mut cpu = Series::one((5, 0));
        cpu.add((1, 0), Count::ONE);
        let five = cpu.multisets(5);
        assert!((0..=5).all(|k| five.at((k, 0)) == Count::ONE));
        assert_eq!(five.at((6, 0)), Count::ZERO);
    }
}
