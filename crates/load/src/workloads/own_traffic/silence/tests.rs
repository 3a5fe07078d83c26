use super::*;

const TENTH_NS: u64 = 100_000_000;

/// The slice that ends so many tenths of a second after the beginning.
fn slice(tenths: u64) -> Span {
    Span { from_ns: (tenths - 1) * TENTH_NS, to_ns: tenths * TENTH_NS }
}

/// One connection whose bytes lie there since so many tenths, or none.
fn unread(since_tenths: Option<u64>) -> Unread {
    let since_ns = since_tenths.map(|tenths| tenths * TENTH_NS);
    Unread { connections: u64::from(since_ns.is_some()), since_ns, is_whole: true }
}

/// The slices, of so many, at whose ends all connections were gone through, and the first one with a breach. `lies` says what lies unread at
/// the end of a slice.
fn watch(
    silence: &mut Silence,
    slices: u64,
    lies: impl Fn(u64) -> Unread,
) -> (Vec<u64>, Option<(u64, Breach)>) {
    let mut looks = Vec::new();
    for tenths in 1..=slices {
        let look = || {
            looks.push(tenths);
            lies(tenths)
        };
        if let Some(breach) = silence.breach(slice(tenths), look) {
            return (looks, Some((tenths, breach)));
        }
    }
    (looks, None)
}

#[test]
fn a_server_that_leaves_requests_unread_for_a_second_has_stopped() {
    let (_, found) = watch(&mut Silence::begin(0), 100, |_| unread(Some(1)));
    let (tenths, breach) = found.unwrap();
    assert_eq!((tenths, breach.value, breach.requests, breach.seen_ns), (11, 1.0, 1, 11 * TENTH_NS));
    assert!(breach.words().contains("silence_s"), "{}", breach.words());
}

#[test]
fn connections_are_gone_through_once_a_second_in_a_lull() {
    let (looks, found) = watch(&mut Silence::begin(0), 45, |_| unread(None));
    assert_eq!((looks, found), (vec![10, 20, 30, 40], None));
}

#[test]
fn a_request_that_comes_in_a_lull_ends_it_in_the_first_slice_in_which_it_has_lain_for_a_second() {
    for arrived in 1..40 {
        let lies = |tenths: u64| unread((arrived < tenths).then_some(arrived));
        let (looks, found) = watch(&mut Silence::begin(0), 100, lies);
        assert_eq!(found.unwrap().0, arrived + 10, "{looks:?}");
        assert!(looks.len() as u64 <= 2 + arrived / 10, "{looks:?}");
    }
}

#[test]
fn what_is_read_in_time_is_no_stop_and_what_comes_after_it_counts_from_its_own_arrival() {
    // The first is read in the 15th slice, without an answer; another arrives in the 17th and stays.
    let lies = |tenths: u64| match tenths < 15 {
        true => unread((tenths > 8).then_some(8)),
        false => unread((tenths > 16).then_some(16)),
    };
    let (looks, found) = watch(&mut Silence::begin(0), 100, lies);
    assert_eq!((looks, found.unwrap().0), (vec![10, 18, 26], 26));
}

#[test]
fn a_server_that_answers_has_not_stopped() {
    let mut silence = Silence::begin(0);
    for tenths in 1..50 {
        silence.answered(slice(tenths).to_ns);
        assert_eq!(silence.breach(slice(tenths), || panic!("nobody has to look")), None);
    }
}

#[test]
fn checks_at_the_ends_of_slices_are_looks() {
    let mut silence = Silence::begin(0);
    for tenths in 1..50 {
        silence.looked(slice(tenths).to_ns, unread(None));
        assert_eq!(silence.breach(slice(tenths), || panic!("it was looked already")), None);
    }
    for tenths in 50..60 {
        silence.looked(slice(tenths).to_ns, unread(Some(49)));
        let found = silence.breach(slice(tenths), || panic!("it was looked already"));
        assert_eq!(found.is_some(), tenths == 59);
    }
}

#[test]
fn after_a_look_that_did_not_see_all_it_is_looked_again_at_once() {
    let part = Unread { is_whole: false, ..unread(None) };
    let (looks, found) = watch(&mut Silence::begin(0), 13, |_| part);
    assert_eq!((looks, found), (vec![10, 11, 12, 13], None));
    // What it saw lay there all the same.
    let part = Unread { is_whole: false, ..unread(Some(0)) };
    assert!(watch(&mut Silence::begin(0), 13, |_| part).1.is_some());
}
