//! Claims of causes whose shares are made up, block by block.

use probe::Situation;

use super::*;

/// What is claimed where the same possible cause is found in both arms, with the most that it can take in each block.
fn claimed(at_most: &[(Option<f64>, Option<f64>)]) -> Vec<(Side, Support)> {
    let found = |share: Option<f64>| {
        let cause = Cause::possible("own-threads", Subject::Server, "");
        let mut found = Found::default();
        found.add(&Situation::default(), Cause { share_at_most: share, ..cause });
        found
    };
    let found: Vec<(Found, Found)> = at_most.iter().map(|(a, b)| (found(*a), found(*b))).collect();
    let scaled = |found| Scaled { found, active: 100.0, wall: 100.0 };
    let blocks: Vec<_> = found.iter().map(|(a, b)| (scaled(a), scaled(b))).collect();
    let claims = claims(&blocks, 100.0, None);
    assert!(claims.iter().all(|claim| matches!(claim.evidence, Evidence::AtMost { .. })), "{claims:?}");
    claims.iter().map(|claim| (claim.evidence.costlier(), claim.support)).collect()
}

#[test]
fn a_cause_of_both_arms_is_of_the_one_in_which_it_can_take_much_more() {
    let more: Vec<_> = (0..6).map(|n| (Some(0.5 + f64::from(n) * 0.01), Some(0.2))).collect();
    assert_eq!(claimed(&more), [(Side::Arm, Support::Possible)]);
    let less: Vec<_> = more.iter().map(|(a, b)| (*b, *a)).collect();
    assert_eq!(claimed(&less), [(Side::Against, Support::Possible)]);
}

/// What is claimed of a lock that has this share of the arm's time in each block, and of the other arm's never.
fn claimed_of_a_lock(shares: &[Option<f64>]) -> Vec<(Evidence, Support)> {
    let found: Vec<Found> = shares
        .iter()
        .map(|share| {
            let mut found = Found::default();
            let cause = share.map(|share| Cause::seen("lock", Subject::Server, share, ""));
            cause.into_iter().for_each(|cause| found.add(&Situation::default(), cause));
            found
        })
        .collect();
    let none = Found::default();
    // The server sleeps for three quarters of its time.
    let scaled = |found| Scaled { found, active: 25.0, wall: 100.0 };
    let blocks: Vec<_> = found.iter().map(|found| (scaled(found), scaled(&none))).collect();
    claims(&blocks, 100.0, None).into_iter().map(|claim| (claim.evidence, claim.support)).collect()
}

#[test]
fn what_costs_sleep_is_a_share_of_all_time() {
    let claims = claimed_of_a_lock(&[Some(0.6); 6]);
    let [(Evidence::Cost { change }, Support::Supported)] = claims.as_slice() else { panic!("{claims:?}") };
    assert!((change.difference() - 60.0).abs() < 1e-9, "{change:?}");
}

#[test]
fn what_is_in_all_blocks_but_one_is_possible_if_it_matters() {
    let but_one = |share: f64| [None, Some(share), Some(share), Some(share), Some(share), Some(share)];
    let claims = claimed_of_a_lock(&but_one(0.6));
    assert_eq!(claims, [(Evidence::Presence { found_in: Side::Arm }, Support::Possible)]);
    assert_eq!(claimed_of_a_lock(&but_one(0.009)), []);
    assert_eq!(claimed_of_a_lock(&[None, None, Some(0.6), Some(0.6), Some(0.6), Some(0.6)]), []);
}

#[test]
fn about_as_much_in_both_or_nothing_known_is_no_claim() {
    let alike: Vec<_> = (0..6).map(|n| (Some(0.5 + f64::from(n) * 0.01), Some(0.3))).collect();
    assert_eq!(claimed(&alike), []);
    assert_eq!(claimed(&[(None, None); 6]), []);
    assert_eq!(claimed(&[(Some(0.5), Some(0.1)); 5]), [], "too few blocks to tell");
    assert_eq!(claimed(&[(Some(0.009), Some(0.0)); 6]), [], "nothing that matters");
}
