//! Sets of few things, a bit for each.

/// A bit for each of these counts that is not the same in both.
pub(in crate::account) fn differing<const LEN: usize>(came: &[u32; LEN], before: &[u32; LEN]) -> u32 {
    const { assert!(LEN <= u32::BITS as usize) };
    let pairs = came.iter().zip(before).enumerate();
    pairs.fold(0, |bits, (number, (now, before))| bits | u32::from(now != before) << number)
}

/// Numbers of the bits that are set, in ascending order.
pub(in crate::account) fn numbers_in(bits: impl Into<u64>) -> impl Iterator<Item = usize> {
    let mut bits = bits.into();
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(lowest)
    })
}

/// The bits of the first so many numbers; of all that there can be where they are more.
pub(in crate::account) fn first_bits(numbers: usize) -> u64 {
    u64::MAX.checked_shr(u64::BITS.saturating_sub(numbers as u32)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_in_ascending_order_up_to_the_last_bit() {
        let (mut now, before) = ([7; 32], [7; 32]);
        assert_eq!(differing(&now, &before), 0);
        (now[0], now[9], now[31]) = (8, 6, 0);
        assert_eq!(numbers_in(differing(&now, &before)).collect::<Vec<_>>(), [0, 9, 31]);
    }

    #[test]
    fn the_first_bits_are_as_many_as_they_are_said_to_be() {
        for numbers in [0, 1, 2, 63, 64] {
            assert!(numbers_in(first_bits(numbers)).eq(0..numbers), "{numbers}");
        }
        assert_eq!(first_bits(65), u64::MAX);
    }
}
