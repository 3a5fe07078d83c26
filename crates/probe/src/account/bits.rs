//! Sets of few things, a bit for each.

/// A bit for each of these counts that is not the same in both.
pub(super) fn differing<const LEN: usize>(came: &[u32; LEN], before: &[u32; LEN]) -> u32 {
    const { assert!(LEN <= u32::BITS as usize) };
    let pairs = came.iter().zip(before).enumerate();
    pairs.fold(0, |bits, (number, (now, before))| bits | u32::from(now != before) << number)
}

/// Whether the bit of this number is set.
pub(super) fn is_in(bits: u32, number: usize) -> bool {
    bits & 1 << number != 0
}

/// Numbers of the bits that are set, in ascending order.
pub(super) fn numbers_in(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_in_ascending_order_up_to_the_last_bit() {
        let (mut now, before) = ([7; 32], [7; 32]);
        assert_eq!(differing(&now, &before), 0);
        (now[0], now[9], now[31]) = (8, 6, 0);
        let bits = differing(&now, &before);
        assert_eq!(numbers_in(bits).collect::<Vec<_>>(), [0, 9, 31]);
        assert!(is_in(bits, 31) && !is_in(bits, 30));
    }
}
