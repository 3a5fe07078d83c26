//! Levels against known ones, and the error that studies with looks really make.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::super::signed_rank::distribution;
use super::*;

/// P(rank sum <= w) by w, of `n` values without ties: quick enough for thousands of studies.
fn tails(n: usize) -> Vec<f64> {
    let ranks: Vec<usize> = (1..=n).collect();
    let sums = distribution(&ranks).into_iter();
    sums.scan(0.0, |tail, p| {
        *tail += p;
        Some(*tail)
    })
    .collect()
}

/// One-sided p that the values lie above `location`.
fn p_above(tails: &[f64], values: &[f64], location: f64) -> f64 {
    let not_above = |v: &f64| match *v < location {
        true => 1 + values.iter().filter(|o| (**o - location).abs() < (v - location).abs()).count(),
        false => 0,
    };
    tails[values.iter().map(not_above).sum::<usize>()]
}

fn p_below(tails: &[f64], values: &[f64], location: f64) -> f64 {
    let mirrored: Vec<f64> = values.iter().map(|v| -v).collect();
    p_above(tails, &mirrored, -location)
}

fn two_sided(tails: &[f64], values: &[f64]) -> f64 {
    2.0 * p_above(tails, values, 0.0).min(p_below(tails, values, 0.0))
}

/// Blocks, level and tails of each look, for `claims` claims.
fn looks_with_tails(looks: &Looks, claims: usize) -> Vec<(usize, f64, Vec<f64>)> {
    let levels = looks.table(claims).pop().unwrap();
    looks.blocks().iter().zip(levels).map(|(n, level)| (*n, level, tails(*n))).collect()
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

/// Boundaries of a study whose test statistic is normal, so that nothing is lost to few attainable levels.
fn normal_boundaries(spending: Spending, blocks: &[usize]) -> Vec<f64> {
    let (mut walk, mut spent) = (Walk::default(), 0.0);
    let last = blocks[blocks.len() - 1] as f64;
    blocks
        .iter()
        .map(|n| {
            let level = walk.level_that_spends(spending.spent(0.05, *n as f64 / last, 1.0) - spent, *n);
            spent += walk.step(level, *n);
            upper_quantile(level / 2.0)
        })
        .collect()
}

#[test]
fn boundaries_agree_with_multivariate_normal_integrals() {
    // scipy 1.17.1: root of 1 - multivariate_normal.cdf(c, lower_limit=-c, cov[i][j]=sqrt(n_i / n_j)) - spent.
    let known = [
        (Spending::OBrienFleming, [1, 2, 3], [3.710_3, 2.511_4, 1.993_0]),
        (Spending::Pocock, [1, 2, 3], [2.279_4, 2.294_9, 2.295_9]),
        (Spending::OBrienFleming, [8, 12, 16], [2.962_6, 2.359_0, 2.014_1]),
        (Spending::Pocock, [8, 12, 16], [2.157_0, 2.312_4, 2.326_9]),
    ];
    for (spending, blocks, boundaries) in known {
        for (found, known) in normal_boundaries(spending, &blocks).into_iter().zip(boundaries) {
            assert!((found - known).abs() < 2e-3, "{spending:?} {blocks:?}: {found} for {known}");
        }
    }
}

#[test]
fn one_look_is_the_exact_test() {
    let looks = Looks::new(&[8], 0.05).unwrap();
    assert!((looks.level_at(0) - 10.0 / 256.0).abs() < 1e-9);
    assert_eq!(looks.level_at(1), 0.0);
}

#[test]
fn a_look_that_can_claim_nothing_spends_nothing() {
    let looks = Looks::new(&[4, 12], 0.05).unwrap();
    assert_eq!(looks.level_at(0), 0.0);
    assert_eq!(looks.without_level(), [4]);
    assert_eq!(looks.level_at(1), Looks::new(&[12], 0.05).unwrap().level_at(0));
}

#[test]
fn looks_that_make_no_sense_are_refused() {
    for blocks in [&[] as &[usize], &[8, 8], &[12, 8], &[0, 8], &[8, 401]] {
        let fault = Looks::new(blocks, 0.05).unwrap_err();
        assert!(fault.object.contains("looks") && !fault.remedy.is_empty());
    }
    assert!(Looks::new(&[8], 0.0).is_err() && Looks::new(&[8], f64::NAN).is_err());
}

#[test]
fn claims_made_stay_made_and_leave_more_for_the_others() {
    let looks = Looks::new(&[8, 12, 16], 0.05).unwrap();
    let (alone, with_others) = (looks.level_for(2, 1), looks.level_for(2, 2));
    let p = (alone + with_others) / 2.0;
    assert_eq!(looks.claims(2, &[p, 1.0], &[false, false]), [false, false]);
    assert_eq!(looks.claims(2, &[p, 1.0], &[false, true]), [true, true]);
    assert_eq!(looks.claims(2, &[], &[]), [] as [bool; 0]);
}

/// Share of simulated studies without any difference in which some look claims one: `arms` arms against one baseline,
/// as heavy in the tails as slow runs make them.
fn family_error(looks: &Looks, arms: usize, studies: usize) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let blocks = *looks.blocks().last().unwrap();
    let at = looks_with_tails(looks, arms);
    let wrong = (0..studies).filter(|_| {
        let mut differences = vec![Vec::new(); arms];
        for _ in 0..blocks {
            let baseline = uniform(&mut rng).powi(3);
            differences.iter_mut().for_each(|d| d.push(uniform(&mut rng).powi(3) - baseline));
        }
        at.iter().any(|(n, level, tails)| differences.iter().any(|d| two_sided(tails, &d[..*n]) <= *level))
    });
    wrong.count() as f64 / studies as f64
}

#[test]
fn the_family_error_stays_below_the_nominal_one() {
    // Beyond 0.05 by more than three standard errors (0.0015 each) would be no luck.
    for spending in [Spending::OBrienFleming, Spending::Pocock, Spending::Even] {
        let plans: [(&[usize], usize); 3] = [(&[8, 12, 16], 1), (&[8, 12, 16], 4), (&[6, 10, 14, 20], 2)];
        for (blocks, arms) in plans {
            let looks = Looks::spending(blocks, 0.05, spending).unwrap();
            let error = family_error(&looks, arms, 20_000);
            assert!(error < 0.0547, "{spending:?} {blocks:?} {arms} arms: {error}");
        }
    }
}

#[test]
fn equal_is_seldom_said_of_a_difference_as_large_as_the_margin() {
    let looks = Looks::new(&[8, 12, 16], 0.05).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let studies = 20_000;
    let at = looks_with_tails(&looks, 1);
    let wrong = (0..studies).filter(|_| {
        let d: Vec<f64> = (0..16).map(|_| 1.0 + uniform(&mut rng) + uniform(&mut rng)).collect();
        at.iter().any(|(n, level, tails)| {
            p_above(tails, &d[..*n], -1.0).max(p_below(tails, &d[..*n], 1.0)) <= *level
        })
    });
    let error = wrong.count() as f64 / f64::from(studies);
    assert!(error < 0.0547, "{error}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]
    #[test]
    fn levels_fall_with_the_number_of_claims(first in 4usize..12, steps in proptest::collection::vec(1usize..8, 0..4)) {
        let blocks: Vec<usize> = std::iter::once(first)
            .chain(steps.iter().scan(first, |n, step| { *n += step; Some(*n) }))
            .collect();
        let looks = Looks::new(&blocks, 0.05).unwrap();
        let table = looks.table(6);
        for (m, pair) in table.windows(2).enumerate() {
            for (fewer, more) in pair[0].iter().zip(&pair[1]) {
                proptest::prop_assert!(more <= fewer, "{} claims: {:?}", m + 2, table);
            }
        }
        for levels in &table {
            proptest::prop_assert!(levels.iter().all(|level| (0.0..=0.05 + 1e-9).contains(level)));
        }
    }
}
