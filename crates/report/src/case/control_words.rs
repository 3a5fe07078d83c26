//! What the controls of a study say, in words that terminal and page share.

use machine::wording::{counted, plural};
use study::evidence::{ArmStanding, Control, ControlKind, ControlOutcome, QuotaTaken, Unseen};
use study::{Direction, Evidence, Misplaced, Trust, Verdict};

use crate::number;

/// Whether claims may be made, as one sentence without its full stop.
pub fn trust(trust: Trust) -> String {
    match trust {
        Trust::Sound => "no difference was seen between the two runs of the baseline".into(),
        Trust::Untrustworthy { ratio } => format!(
            "the baseline differed from itself by {}: something other than the placement changes from run to run",
            unsigned(ratio)
        ),
        Trust::TooFew { blocks, needed } => {
            format!("{blocks} complete {}, and a claim takes {needed}", plural("block", blocks))
        }
    }
}

/// What each control says, by its name: a sentence each, without its full stop. Whether claims may be made only where they may not.
pub fn controls(evidence: &Evidence) -> Vec<(&'static str, String)> {
    let doubt = (evidence.trust != Trust::Sound).then(|| ("trust", trust(evidence.trust)));
    [("baseline, twice", twice(evidence)), positive(evidence)].into_iter().chain(doubt).collect()
}

/// Stands for a control that there is not, or not yet.
const NOT_AVAILABLE: &str = "not available: no complete block yet, or no such arm in this study";

/// What the baseline against itself says, in one sentence without its full stop. That no difference was seen is not that there is none.
fn twice(evidence: &Evidence) -> String {
    let Some(a_a) = &evidence.a_a else { return NOT_AVAILABLE.into() };
    let size = number::change_with_interval(a_a.ratio, a_a.interval);
    match (evidence.trust, a_a.interval) {
        (Trust::TooFew { .. }, _) => format!("{size}: too early to tell"),
        (Trust::Untrustworthy { .. }, _) => format!("differs: {size}"),
        (Trust::Sound, _) if a_a.verdict == Verdict::Equal => {
            format!("{} ({size})", a_a.verdict.word(evidence.precision.margin))
        }
        (Trust::Sound, Some((low, high))) => {
            let most = (1.0 - low).abs().max((high - 1.0).abs());
            format!("no difference seen ({size}); one below {} might not have shown", number::share(most))
        }
        (Trust::Sound, None) => format!("no difference seen ({size})"),
    }
}

/// The positive control by its name, what it did, and how it came out.
fn positive(evidence: &Evidence) -> (&'static str, String) {
    let Some(positive) = &evidence.control else { return ("positive control", NOT_AVAILABLE.into()) };
    let outcome = match evidence.trust {
        Trust::TooFew { .. } => "too early to tell".into(),
        _ => outcome(positive, evidence),
    };
    let size = control(positive, evidence.better);
    (control_name(positive), format!("{size} against {}: {outcome}", positive.contrast.reference))
}

/// A ratio as a change without its sign.
pub fn unsigned(ratio: f64) -> String {
    number::change(ratio).trim_start_matches(['-', '+']).to_string()
}

/// `20.3 % taken, 20.4 % [19.7, 21.9] lost`: what the positive control did, without a verdict.
pub fn control(control: &Control, better: Direction) -> String {
    let (loss, interval) = control.loss(better);
    let percent = |share: f64| format!("{:.1}", share * 1e2);
    let bounds =
        interval.map_or(String::new(), |(low, high)| format!(" [{}, {}]", percent(low), percent(high)));
    let lost = match loss < 0.0 {
        true => {
            format!("{} % gained", percent(-loss))
                + &interval
                    .map_or(String::new(), |(low, high)| format!(" [{}, {}]", percent(-high), percent(-low)))
        }
        false => format!("{} %{bounds} lost", percent(loss)),
    };
    match control.kind {
        ControlKind::Dose { taken_share: Some(taken), .. } => format!("{} % taken, {lost}", percent(taken)),
        ControlKind::Dose { asked_share, taken_share: None, .. } => {
            format!("{} % requested (what was taken could not be read), {lost}", percent(asked_share))
        }
        ControlKind::MisTuning => lost,
    }
}

/// What the control is called.
fn control_name(control: &Control) -> &'static str {
    if control.kind.is_dose() { "dose" } else { "mis-tuning" }
}

/// How the control came out, and what follows, as a sentence without its full stop.
pub fn outcome(control: &Control, evidence: &Evidence) -> String {
    let name = control_name(control);
    match control.outcome {
        ControlOutcome::Seen => format!("the {name} was seen"),
        ControlOutcome::Helped if control.kind.is_dose() => {
            "the dose helped: a server that gets faster when CPU time is taken from it is not limited by its CPU, and no placement can be \
             judged by this figure"
                .into()
        }
        ControlOutcome::Helped => "the mis-tuning helped, so it is no control: no result may be called equal".into(),
        ControlOutcome::Unseen(why) => format!("the {name} was not seen, so no result may be called equal: {}", unseen(why, evidence)),
    }
}

/// Why a control was not seen, and what to do, in one sentence without its full stop.
fn unseen(why: Unseen, evidence: &Evidence) -> String {
    match unseen_and_remedy(why, &evidence.metric) {
        (cause, None) => cause,
        (cause, Some(remedy)) => format!("{cause}; {remedy}"),
    }
}

/// By what a server is called busy ([`study::AsRun::server_busy_share`]): a server of many threads can fill its CPUs with none of them busy.
const BUSY_BY: &str = "its busiest thread or all the CPUs that it may use";

/// Why a control of the figure `metric` was not seen, and what to do where something can be done.
pub fn unseen_and_remedy(why: Unseen, metric: &str) -> (String, Option<&'static str>) {
    let share = number::share;
    match why {
        Unseen::NotTaken { taken_share } => (
            format!("the thief got only {} of the CPU", share(taken_share)),
            Some("run as root, so that it can have real-time priority"),
        ),
        Unseen::LoadLimits { client_busy, server_busy } => (
            format!(
                "the load is the limit: it is {} busy, and the server, by {BUSY_BY}, only {}",
                share(client_busy),
                share(server_busy)
            ),
            Some(
                "give the server more work per request (--work-us, larger requests), or the load more threads or CPUs (--key load.threads=2, \
                 --load-cpus)",
            ),
        ),
        Unseen::Slack { server_wanted } => (
            format!(
                "the server is only {} busy, by {BUSY_BY}, so a slower CPU might not show",
                share(server_wanted)
            ),
            Some(
                "use more connections (--connections), or decide by a latency at a fixed rate (--rate, --metric latency_p99_us)",
            ),
        ),
        Unseen::NoCapacity => {
            (format!("{metric} is no capacity, and does not have to change with the server's CPU time"), None)
        }
        Unseen::OutOfProportion { loss: (low, high) } => (
            format!(
                "the loss, {} to {}, does not match what was taken",
                share(low.max(0.0)),
                share(high.max(0.0))
            ),
            None,
        ),
        Unseen::Unexplained => ("nothing in this case says why".into(), Some("more blocks may show it")),
    }
}

/// What is wrong with the trials of an arm, without a full stop: `the server did not keep to CPU 1 (it ran on CPU 0) in 14 of 14
/// trials`.
pub fn standing(standing: &ArmStanding) -> String {
    match standing {
        ArmStanding::Starved { trials, of } => {
            format!("starved: no request was answered in {trials} of {}", counted(*of, "trial"))
        }
        ArmStanding::Misplaced { trials, of, how } => {
            format!("{} in {trials} of {}", misplaced(how), counted(*of, "trial"))
        }
        ArmStanding::Harmful { trial, breach, traffic_jumped } => {
            let jumped = match traffic_jumped {
                true => "; the traffic jumped in that trial, and may be what breached it",
                false => "",
            };
            format!("harmful: ended by a guard in trial {trial}: {}{jumped}", breach.words())
        }
    }
}

/// Where the server ran instead.
pub fn misplaced(how: &Misplaced) -> String {
    match how {
        Misplaced::Elsewhere { asked, ran_on } => {
            format!("the server did not keep to {} (it ran on {})", cpus(asked), cpus(ran_on))
        }
        Misplaced::Wider { asked, allowed } => {
            format!("the server was put on {} and may run on {}", cpus(asked), cpus(allowed))
        }
        Misplaced::Narrower { given, allowed } => {
            format!("the server restricts itself to {} although it was given {}", cpus(allowed), cpus(given))
        }
    }
}

/// `CPU 3`, `CPUs 0-1`.
pub fn cpus(cpus: &machine::CpuSet) -> String {
    format!("{} {}", plural("CPU", cpus.len()), cpus.to_list())
}

/// The quota that held the server back.
pub fn quota(quota: &QuotaTaken) -> String {
    format!(
        "a quota of {} CPUs (cgroup {}) stopped the server for {} of the time",
        number::figure(quota.cpus),
        quota.cgroup,
        number::share(quota.throttled_share)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(trust: Trust, interval: Option<(f64, f64)>, verdict: Verdict) -> Evidence {
        let mut evidence = study::evidence::weigh(&[], &[], &study::Recipe::default().question());
        evidence.trust = trust;
        evidence.a_a = Some(study::Contrast {
            arm: "unpinned A".into(),
            cpu: None,
            reference: "the same again".into(),
            blocks: 14,
            ratio: 1.005,
            interval,
            p_adjusted: 1.0,
            verdict,
            whose: None,
        });
        evidence
    }

    #[test]
    fn a_harmful_arm_is_said_with_its_guard_and_what_breached_it() {
        let breach = load::Breach {
            guard: "latency_p99_us <= 20000".into(),
            figure: "latency_p99_us".into(),
            value: 31_000.0,
            limit: 20_000.0,
            requests: 120,
            seen_ns: 2,
            slice_began_ns: 1,
            certainty: load::Certainty::Counted,
        };
        let said = |traffic_jumped| {
            standing(&ArmStanding::Harmful { trial: 7, breach: breach.clone(), traffic_jumped })
        };
        let words = said(false);
        for part in
            ["harmful: ended by a guard in trial 7", "latency_p99_us <= 20000", "31000", "120 requests"]
        {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(!words.contains("jumped") && said(true).contains("the traffic jumped"));
    }

    #[test]
    fn a_server_with_slack_is_described_by_all_of_its_cpus_too() {
        let (slack, _) = unseen_and_remedy(Unseen::Slack { server_wanted: 0.61 }, "throughput");
        let limits = Unseen::LoadLimits { client_busy: 0.99, server_busy: 0.61 };
        let (limited, _) = unseen_and_remedy(limits, "throughput");
        assert!(
            slack.starts_with("the server is only 61 % busy, by its busiest thread or all the CPUs"),
            "{slack}"
        );
        assert!(
            limited.contains("it is 99 % busy, and the server, by its busiest thread or all"),
            "{limited}"
        );
        assert!(limited.ends_with("only 61 %"), "{limited}");
    }

    #[test]
    fn the_baseline_twice_says_what_would_not_have_shown() {
        let wide = Some((0.927, 1.123));
        assert_eq!(
            twice(&evidence(Trust::Sound, wide, Verdict::Undecided)),
            "no difference seen (+0.5 % [-7.3, +12.3]); one below 12 % might not have shown"
        );
        assert_eq!(
            twice(&evidence(Trust::Sound, Some((0.99, 1.01)), Verdict::Equal)),
            "equal within 3 % (+0.5 % [-1.0, +1.0])"
        );
        let early = Trust::TooFew { blocks: 2, needed: 6 };
        assert!(twice(&evidence(early, None, Verdict::Undecided)).ends_with("too early to tell"));
        let differs = Trust::Untrustworthy { ratio: 1.005 };
        assert!(twice(&evidence(differs, wide, Verdict::Worse)).starts_with("differs: "));
        assert_eq!(twice(&Evidence { a_a: None, ..evidence(differs, wide, Verdict::Worse) }), NOT_AVAILABLE);
    }
}
