//! Explanations that are made up for tests.

use advise::diagnosis::rules::Costs;
use advise::diagnosis::{Cause, CauseId, Remedy, Subject};
use advise::explanation::claim::{Claim, Evidence, Side, Support};
use advise::explanation::term::{Part, Term};
use advise::explanation::waterfall::{Change, PartStep, Step, Waterfall};
use advise::explanation::{Basis, Explanation};
use probe::account::Source;

/// Text that would run, break out of an attribute, drive the terminal or turn the reading direction.
pub const HOSTILE: &str = "</svg><script>x</script>\" onload='x' \x1b[2J\u{202e}\n&";

pub fn change(from: f64, to: f64, interval: Option<(f64, f64)>) -> Change {
    Change { from, to, interval }
}

fn part(part: Part, from: f64, to: f64) -> PartStep {
    PartStep { part, change: change(from, to, None) }
}

/// `cpu 0`, which takes 125 us a request, against `unpinned A` with 100 us, by six blocks: a hog makes it wait, packets interrupt it less,
/// and its time in user mode may differ by chance.
pub fn explanation() -> Explanation {
    let hog = Part::Program { name: "hog".into() };
    let packets = Part::Interrupt { source: Source::SoftirqNetRx };
    let step = |term, change, parts| Step { term, change, parts };
    let steps = vec![
        step(
            Term::Waiting,
            change(10.0, 40.0, Some((28.0, 32.0))),
            vec![part(hog, 0.0, 29.0), part(Part::Rest, 10.0, 11.0)],
        ),
        step(
            Term::Interrupted,
            change(12.0, 6.0, Some((-7.5, -4.0))),
            vec![part(packets, 12.0, 6.0), part(Part::Load, 0.0, 0.0)],
        ),
        step(Term::User, change(50.0, 51.0, Some((-2.0, 3.0))), vec![part(Part::Rest, 50.0, 51.0)]),
        step(Term::Asleep, change(28.0, 28.0, Some((0.0, 0.0))), Vec::new()),
        step(Term::Throttled, change(0.0, 0.0, Some((0.0, 0.0))), Vec::new()),
    ];
    let total = change(100.0, 125.0, Some((22.0, 28.0)));
    let own = change(50.0, 51.0, Some((-2.0, 3.0)));
    Explanation {
        arm: "cpu 0".into(),
        against: "unpinned A".into(),
        basis: Basis::Request,
        blocks: 6,
        threads: (1, 1),
        server: Waterfall { total, steps, own },
        load: None,
        wakeups: None,
        functions: Vec::new(),
        latency: None,
        work: None,
        claims: vec![hog_claim()],
        unexplained_share: Some(0.031),
        missing: Vec::new(),
    }
}

/// The hog costs `cpu 0` 29 us more.
pub fn hog_claim() -> Claim {
    let subject = Subject::Program { name: "hog".into() };
    let cause = Cause::seen("busy-task", subject.clone(), 0.2, "hog takes the CPU")
        .remedy(Remedy::by_hand("Move hog to another CPU"));
    Claim {
        id: CauseId { rule: "busy-task".into(), subject },
        costs: Costs::CpuAccess,
        support: Support::Supported,
        evidence: Evidence::Cost { change: change(0.0, 29.0, Some((27.0, 31.0))) },
        outweighed: false,
        own_work: false,
        example: Some(cause),
        words: String::new(),
        intervention: None,
        proof: None,
    }
}

/// The same by five blocks, which give no interval: the claim is a possible one.
pub fn of_five_blocks() -> Explanation {
    let mut explanation = explanation();
    explanation.blocks = 5;
    let server = &mut explanation.server;
    let changes = server.steps.iter_mut().map(|step| &mut step.change);
    changes.chain([&mut server.total, &mut server.own]).for_each(|change| change.interval = None);
    let claim = &mut explanation.claims[0];
    (claim.support, claim.evidence) = (Support::Possible, Evidence::Presence { found_in: Side::Arm });
    explanation
}

/// The same with hostile text wherever text comes from outside.
pub fn hostile() -> Explanation {
    let mut explanation = explanation();
    explanation.arm = format!("a{HOSTILE}");
    explanation.against = format!("b{HOSTILE}");
    let program = Part::Program { name: HOSTILE.into() };
    let thread = Part::KernelThread { name: HOSTILE.into() };
    explanation.server.steps[0].parts = vec![part(program, 0.0, 15.0), part(thread, 0.0, 14.0)];
    let claim = &mut explanation.claims[0];
    claim.id.subject = Subject::Cgroup { path: HOSTILE.into() };
    claim.example.iter_mut().for_each(|cause| cause.remedies = vec![Remedy::by_hand(HOSTILE)]);
    let own = Claim { own_work: true, words: HOSTILE.into(), ..explanation.claims[0].clone() };
    explanation.claims.extend([own]);
    explanation
}
