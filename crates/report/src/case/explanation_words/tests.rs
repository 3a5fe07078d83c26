//! Words of made-up explanations.

use advise::diagnosis::Subject;
use advise::explanation::Basis;
use advise::explanation::claim::{Evidence, Side, Support};
use advise::explanation::term::Term;
use advise::explanation::waterfall::{Step, Waterfall};

use super::examples;
use super::sentences::{self, closing, load};
use super::*;

#[test]
fn values_have_the_unit_of_their_basis() {
    let words = |basis| (value(basis, 0.25), signed(basis, -0.25));
    assert_eq!(words(Basis::Request), ("0.25 us".into(), "-0.25 us".into()));
    assert_eq!(words(Basis::RequestAtFixedRate), words(Basis::Request));
    assert_eq!(words(Basis::Window), ("25.0 %".into(), "-25.0 %".into()));
    assert_eq!(
        (value(Basis::Request, 78.34), value(Basis::Request, 12_345.6)),
        ("78.3 us".into(), "12,346 us".into())
    );
    let change = examples::change(1.0, 2.0, Some((-0.5, 10.25)));
    assert_eq!(interval(Basis::Request, &change), "[-0.50, +10.2]");
    assert_eq!(interval(Basis::Window, &examples::change(0.1, 0.2, Some((0.05, 0.15)))), "[+5.0, +15.0]");
    assert_eq!(interval(Basis::Request, &examples::change(1.0, 2.0, None)), "", "too few blocks");
}

#[test]
fn what_differs_comes_first_and_what_may_be_chance_says_so() {
    let explanation = examples::explanation();
    let shown = shown_terms(&explanation);
    let sure: Vec<(Term, Sureness)> =
        shown.steps.iter().map(|step| (step.step.term, step.sureness)).collect();
    assert_eq!(
        sure,
        [
            (Term::Waiting, Sureness::Shown),
            (Term::Interrupted, Sureness::Shown),
            (Term::User, Sureness::MayBeChance),
            (Term::Asleep, Sureness::MayBeChance),
            (Term::Throttled, Sureness::Nothing),
        ]
    );
    assert_eq!((shown.from, shown.to, shown.change.as_str()), (100.0, 125.0, "+25.0 %"));
}

#[test]
fn a_difference_that_is_shown_and_below_one_percent_is_small() {
    let mut explanation = examples::explanation();
    explanation.server.steps[1].change = examples::change(12.0, 11.5, Some((-0.6, -0.4)));
    let shown = shown_terms(&explanation);
    assert_eq!(
        shown.steps.iter().rev().nth(1).map(|step| (step.step.term, step.sureness)),
        Some((Term::Interrupted, Sureness::Small))
    );
}

#[test]
fn without_an_interval_nothing_is_shown_and_nothing_is_chance() {
    let explanation = examples::of_five_blocks();
    let shown = shown_terms(&explanation);
    let sure: Vec<Sureness> = shown.steps.iter().map(|step| step.sureness).collect();
    assert!(!sure.contains(&Sureness::Shown) && !sure.contains(&Sureness::MayBeChance), "{sure:?}");
    assert_eq!(sure[..2], [Sureness::TooFewBlocks; 2]);
    assert!(
        closing(&explanation).iter().any(|sentence| sentence.starts_with("Fewer than 6 observed blocks"))
    );
    assert!(!closing(&examples::explanation()).iter().any(|sentence| sentence.contains("Fewer than")));
}

#[test]
fn at_a_fixed_rate_sleep_is_left_out_and_shares_have_no_total() {
    let mut explanation = examples::explanation();
    explanation.basis = Basis::RequestAtFixedRate;
    let fixed = shown_terms(&explanation);
    assert!(fixed.steps.iter().all(|step| step.step.term != Term::Asleep));
    assert_eq!((fixed.from, fixed.to, fixed.total), (72.0, 97.0, None));
    assert!(heading(&explanation).contains("(fixed rate)"));
    assert!(basis_note(explanation.basis).is_some_and(|note| note.contains("latency")));
    explanation.basis = Basis::Window;
    let shares = shown_terms(&explanation);
    assert_eq!((shares.total, shares.change.as_str()), (None, ""));
    assert!(heading(&explanation).contains("shares of the window"));
    assert!(basis_note(explanation.basis).is_some_and(|note| note.contains("shares of the window")));
    assert_eq!(basis_note(Basis::Request), None);
}

#[test]
fn a_claim_names_the_side_that_pays_and_how_sure_it_is() {
    let explanation = examples::explanation();
    let words = claim(&explanation.claims[0], &explanation);
    assert_eq!(words.name, "other processes (program:hog)");
    assert_eq!(
        (words.cost.as_str(), words.support),
        ("29.0 us more in cpu 0 than in unpinned A", "supported")
    );
    assert_eq!(words.remedy.as_deref(), Some("Move hog to another CPU"));
    let mut back = explanation.clone();
    back.claims[0].evidence = Evidence::Cost { change: examples::change(29.0, 0.0, Some((-31.0, -27.0))) };
    assert_eq!(claim(&back.claims[0], &back).cost, "29.0 us more in unpinned A than in cpu 0");
    let mut outweighed = explanation.clone();
    outweighed.claims[0].outweighed = true;
    let words = claim(&outweighed.claims[0], &outweighed);
    assert_eq!(words.cost, "29.0 us more in cpu 0 than in unpinned A; cpu 0 is faster all the same");
    assert!(words.remedy.is_some(), "a hog can be moved away from the faster placement, too");
    assert_eq!(no_claim(&outweighed), Some("No rule claims any part of what makes the slower one slower."));
    outweighed.claims[0].id.subject = Subject::Server;
    assert_eq!(claim(&outweighed.claims[0], &outweighed).remedy, None, "it comes with that placement");
    outweighed.claims[0].evidence = Evidence::Presence { found_in: Side::Arm };
    let cost = claim(&outweighed.claims[0], &outweighed).cost;
    assert!(cost.ends_with("its cost was not measured; cpu 0 is faster all the same"), "{cost}");
    let few = examples::of_five_blocks();
    let words = claim(&few.claims[0], &few);
    assert!(
        words.support == "possible" && !words.is_supported && words.cost.contains("not measured"),
        "{words:?}"
    );
    assert_eq!(few.claims[0].support, Support::Possible);
}

#[test]
fn a_claim_without_a_cost_says_what_shows_it() {
    let shown = |evidence| {
        let mut explanation = examples::explanation();
        explanation.claims[0].evidence = evidence;
        claim(&explanation.claims[0], &explanation).cost
    };
    assert_eq!(
        shown(Evidence::Presence { found_in: Side::Against }),
        "found in most blocks of unpinned A and in few of cpu 0; its cost was not measured"
    );
    assert_eq!(
        shown(Evidence::AtMost { change: examples::change(5.0, 27.0, Some((20.0, 24.0))) }),
        "up to 27.0 us in cpu 0, up to 5.00 us in unpinned A; its cost was not measured"
    );
    assert_eq!(
        shown(Evidence::Frequency { change: examples::change(5.4, 1.3, Some((-4.3, -3.9))) }),
        "5.4 a request in unpinned A, 1.3 in cpu 0; their cost was not measured"
    );
}

#[test]
fn only_parts_that_make_a_tenth_of_their_step_are_named() {
    let explanation = examples::explanation();
    let of = |at: usize| parts(Basis::Request, &explanation.server.steps[at]);
    assert_eq!((of(0), of(1)), ("hog +29.0 us".into(), "softirq NET_RX -6.00 us".into()));
    assert_eq!(of(2), "", "the rest has no name");
    let mut against_it = explanation.server.steps[0].clone();
    against_it.parts[1].change = examples::change(10.0, 4.0, None);
    against_it.change = examples::change(10.0, 33.0, None);
    assert_eq!(parts(Basis::Request, &against_it), "hog +29.0 us, the rest -6.00 us", "they add up");
}

#[test]
fn the_load_and_other_threads_are_told() {
    let mut explanation = examples::explanation();
    assert_eq!(load(&explanation), None);
    let step = |term, from, to| Step { term, change: examples::change(from, to, None), parts: Vec::new() };
    let (total, own) = (examples::change(100.0, 100.0, None), examples::change(20.0, 30.0, None));
    let steps = vec![step(Term::Own, 20.0, 30.0), step(Term::Asleep, 80.0, 70.0)];
    explanation.load = Some(Waterfall { total, steps, own });
    assert_eq!(
        load(&explanation).as_deref(),
        Some("The load meanwhile, by counters: on a CPU 30.0 us (+10.0 us), neither 70.0 us (-10.0 us).")
    );
    explanation.threads = (2, 4);
    assert!(closing(&explanation).iter().any(|sentence| sentence.contains("2 against 4")));
    explanation.unexplained_share = None;
    assert!(closing(&explanation)[0].contains("nothing to explain"));
    assert!(closing(&examples::explanation())[0].starts_with("Not explained: 3 % of what changed."));
}

#[test]
fn blocks_that_were_left_out_are_a_sentence() {
    use machine::{FactId, Missing};
    let why =
        "the account has 0.100 s of CPU time, the counters 0.570 s: threads of the server were not seen";
    let dropped = Missing::new("1 observed block", why).identified(FactId::ServerThreads);
    let other = Missing::new("instructions and cycles (PMU)", "this machine has none");
    let explanation = advise::Explanation { missing: vec![other, dropped], ..examples::explanation() };
    let sentences = closing(&explanation);
    assert_eq!(sentences.last().map(String::as_str), Some(&*format!("Without 1 observed block: {why}.")));
    assert!(!closing(&examples::explanation()).iter().any(|sentence| sentence.contains("Without")));
}

#[test]
fn work_of_a_request_is_told_with_what_is_not_shown_to_differ() {
    use advise::explanation::hardware_counters::Work;
    let work = Work {
        instructions: examples::change(41_000.0, 41_200.0, Some((-300.0, 700.0))),
        per_cycle: examples::change(1.85, 1.21, Some((-0.7, -0.6))),
        cache_misses: Some(examples::change(45.0, 310.0, Some((250.0, 280.0)))),
    };
    let words =
        sentences::work(&advise::Explanation { work: Some(work), ..examples::explanation() }).unwrap();
    assert_eq!(
        words,
        "A request in cpu 0 (in unpinned A) took 41200 (41000, not shown to differ) instructions of the server, at 1.21 (1.85) per cycle, and missed the last-level cache 310.0 \
         (45.0) times."
    );
    assert_eq!(sentences::work(&examples::explanation()), None);
}
