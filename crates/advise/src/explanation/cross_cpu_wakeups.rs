//! Wake-ups across CPUs that one placement makes and the other does not.
//!
//! What such a wake-up takes is spread over the kernel's work for it, the interrupt, and the idle CPU that comes up, and no account has it
//! as one sum. Only how often it happens is counted. Look-alike: a slower client, with which a server sleeps more often between requests; but
//! then its wake-ups come from the same CPUs as before, so the share of them that cross CPUs has to differ as well.

use probe::account::{Account, Waker};
use study::Observed;

use super::claim::{Claim, Evidence, Side, Support};
use super::term::Term;
use super::trial_pair::TrialPair;
use super::waterfall::{Change, MATTERS, Waterfall};
use crate::diagnosis::wakers::{is_client, is_own};
use crate::diagnosis::{CauseId, Subject, about};

/// The rule of a diagnosis that finds the same in one window.
const RULE: &str = "cross-cpu-wakeups";
/// Fewer wake-ups across CPUs than this a request do not distinguish a placement.
const OFTEN_PER_REQUEST: f64 = 0.5;

/// Who wakes the server.
#[derive(Clone, Copy)]
enum Partner {
    /// Threads of its own.
    Own,
    /// The load on this host.
    Load,
}

/// Wake-ups by one partner in one trial.
#[derive(Clone, Copy)]
struct Crossings {
    /// From other CPUs, per request.
    per_request: f64,
    /// Share of those from other CPUs in all by this partner, 0 to 1; 0 if there are none.
    share: f64,
}

/// What the slower arm has more of. Empty where no arm is shown to be slower, or where wake-ups do not show it.
pub(super) fn claims(pairs: &[TrialPair<'_, '_>], slower: Option<Side>, server: &Waterfall) -> Vec<Claim> {
    let Some(slower) = slower else { return Vec::new() };
    if !grows(server, slower) {
        return Vec::new();
    }
    let of = |partner| claim(pairs, partner).filter(|claim| claim.evidence.costlier() == slower);
    [Partner::Own, Partner::Load].into_iter().filter_map(of).collect()
}

/// Whether what a wake-up takes grows with the slower arm: the kernel's work, or waiting.
fn grows(server: &Waterfall, slower: Side) -> bool {
    let pays = |term| matches!(term, Term::Kernel | Term::Own | Term::Waiting | Term::Asleep);
    let steps = server.steps.iter().filter(|step| pays(step.term));
    let more: f64 = steps.map(|step| step.change.difference()).sum();
    let more = if slower == Side::Arm { more } else { -more };
    more >= MATTERS * server.total.larger()
}

fn claim(pairs: &[TrialPair<'_, '_>], partner: Partner) -> Option<Claim> {
    let both = |(arm, against): &TrialPair<'_, '_>| {
        crossings(arm.observed, partner).zip(crossings(against.observed, partner))
    };
    let all: Vec<(Crossings, Crossings)> = pairs.iter().map(both).collect::<Option<_>>()?;
    let change = |of: fn(&Crossings) -> f64| {
        Change::of(&all.iter().map(|(arm, against)| (of(arm), of(against))).collect::<Vec<_>>())
    };
    let often = change(|crossings| crossings.per_request);
    let share = change(|crossings| crossings.share);
    let is_often = often.is_there() && often.larger() >= OFTEN_PER_REQUEST && often.is_much();
    let is_elsewhere = share.is_much() && share.difference().signum() == often.difference().signum();
    let costs = about(RULE)?.costs;
    (is_often && is_elsewhere).then(|| Claim {
        id: CauseId { rule: RULE.into(), subject: partner.subject() },
        costs,
        support: Support::Possible,
        evidence: Evidence::Frequency { change: often },
        outweighed: false,
        own_work: false,
        example: None,
        words: String::new(),
        intervention: None,
        proof: None,
    })
}

impl Partner {
    fn subject(self) -> Subject {
        match self {
            Self::Own => Subject::Server,
            Self::Load => Subject::Load,
        }
    }

    fn woke(self, waker: &Waker, account: &Account, observed: &Observed) -> bool {
        match self {
            Self::Own => is_own(waker, account),
            Self::Load => is_client(waker, &observed.situation),
        }
    }
}

/// `None` where the requests or the wakers were not counted.
fn crossings(observed: &Observed, partner: Partner) -> Option<Crossings> {
    let account = observed.situation.account.as_ref()?;
    let requests = observed.requests.filter(|requests| *requests >= 1.0)?;
    let wakers: Vec<_> = account.threads.iter().flat_map(|thread| &thread.wakers).collect();
    if wakers.is_empty() {
        return None;
    }
    let by_it = wakers.into_iter().filter(|waker| partner.woke(waker, account, observed));
    let (mut crossing, mut all) = (0.0, 0.0);
    for waker in by_it {
        all += waker.count as f64;
        crossing += if waker.elsewhere { waker.count as f64 } else { 0.0 };
    }
    let share = if all > 0.0 { crossing / all } else { 0.0 };
    Some(Crossings { per_request: crossing / requests, share })
}

#[cfg(test)]
mod tests {
    use machine::processes::Peer;
    use probe::Situation;
    use probe::account::WakerContext;
    use study::Facts;

    use super::*;
    use crate::diagnosis::situation_builder::{SERVER, situation};
    use crate::explanation::explain;
    use crate::explanation::tests::case;

    const CLIENT: u32 = 900;

    /// The made-up server, woken so often by a process from other CPUs and from its own.
    fn woken(pid: u32, context: WakerContext, elsewhere: u64, here: u64) -> Situation {
        let mut situation = situation();
        situation.connections.peers = vec![Peer { pid: CLIENT, comm: "wrk".into(), connections: 4 }];
        let waker =
            |elsewhere, count| Waker { context, pid: Some(pid), elsewhere, count, ..Waker::default() };
        situation.account.as_mut().unwrap().threads[0].wakers =
            vec![waker(true, elsewhere), waker(false, here)];
        situation
    }

    /// Wake-ups of `cpu 0` and of `cpu 1` from other CPUs and from the server's own, of which `cpu 0` answers fewer requests.
    fn of(pid: u32, context: WakerContext, slow: (u64, u64), fast: (u64, u64)) -> Facts {
        case(6, |arm, block| {
            let more = block as u64 * 10;
            match arm {
                "cpu 0" => (woken(pid, context, slow.0 + more, slow.1), Some(8_000.0)),
                _ => (woken(pid, context, fast.0, fast.1), Some(10_000.0)),
            }
        })
    }

    fn claimed(facts: &Facts) -> Vec<(Subject, Evidence)> {
        let explanation = explain(facts, "cpu 0", "cpu 1").unwrap();
        let claims = explanation.claims.into_iter().filter(|claim| claim.id.rule == RULE);
        claims.map(|claim| (claim.id.subject, claim.evidence)).collect()
    }

    #[test]
    fn threads_that_wake_each_other_across_cpus_in_the_slower_arm_alone_are_a_possible_reason() {
        let facts = of(SERVER, WakerContext::Task, (40_000, 1_000), (500, 12_000));
        let claims = claimed(&facts);
        let [(Subject::Server, Evidence::Frequency { change })] = &claims[..] else { panic!("{claims:?}") };
        assert!((change.to - 5.0).abs() < 0.1 && (change.from - 0.05).abs() < 0.01, "{change:?}");
        // From the other side it is the other arm's.
        let back = explain(&facts, "cpu 1", "cpu 0").unwrap();
        assert_eq!(back.claims[0].evidence.costlier(), Side::Against);
    }

    #[test]
    fn the_load_wakes_it_across_cpus_by_its_packets() {
        let claims = claimed(&of(CLIENT, WakerContext::Softirq, (8_000, 0), (500, 9_500)));
        assert!(matches!(&claims[..], [(Subject::Load, Evidence::Frequency { .. })]), "{claims:?}");
    }

    #[test]
    fn a_slower_client_wakes_it_more_often_from_where_it_always_did() {
        assert_eq!(claimed(&of(CLIENT, WakerContext::Softirq, (8_000, 0), (3_000, 0))), []);
    }

    #[test]
    fn strangers_few_wakeups_and_the_faster_arm_are_no_reason() {
        assert_eq!(claimed(&of(77, WakerContext::Task, (40_000, 0), (0, 12_000))), [], "a stranger");
        assert_eq!(claimed(&of(SERVER, WakerContext::Interrupt, (40_000, 0), (0, 12_000))), [], "a card");
        assert_eq!(claimed(&of(SERVER, WakerContext::Task, (3_000, 0), (0, 12_000))), [], "hardly any");
        assert_eq!(claimed(&of(SERVER, WakerContext::Task, (0, 12_000), (40_000, 0))), [], "the faster arm");
    }
}
