//! Text of made-up explanations.

use advise::explanation::Basis;
use advise::explanation::observer_effect::ObserverEffect;

use super::*;
use crate::case::explanation_words::examples;

fn render(explanation: &Explanation) -> String {
    text(explanation, None)
}

#[test]
fn the_waterfall_leads_from_one_arm_to_the_other() {
    let text = render(&examples::explanation());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Where the time of a request goes: cpu 0 against unpinned A, 6 observed blocks");
    let starts =
        ["  unpinned A ", "    waiting for a CPU ", "    interrupted ", "    may be chance ", "  cpu 0 "];
    for (line, start) in lines[1..].iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    assert!(
        lines[2].contains("+30.0 us")
            && lines[2].contains("[+28.0, +32.0]")
            && lines[2].ends_with("hog +29.0 us")
    );
    assert!(lines[4].ends_with("user mode +1.00 us, asleep +0.00 us"), "no quota: {}", lines[4]);
    assert!(lines[5].contains("125.0 us") && lines[5].ends_with("+25.0 %"), "{}", lines[5]);
    let rest = [
        "1. other processes (program:hog): 29.0 us more in cpu 0 than in unpinned A [supported]",
        "   -> Move hog to another CPU",
        "Not explained: 3 % of what changed.",
    ];
    assert_eq!(lines[6..], rest);
    let cpu_time = "A request takes 90.0 us of the server's CPU time.";
    let with_it = super::text(&examples::explanation(), Some(cpu_time.into()));
    assert!(with_it.contains(&format!("\n{cpu_time}\n")), "{with_it}");
}

#[test]
fn fewer_than_six_blocks_have_no_interval_and_support_nothing() {
    let text = render(&examples::of_five_blocks());
    assert!(text.contains("5 observed blocks") && text.contains("Fewer than 6 observed blocks"), "{text}");
    assert!(!text.contains('[') || !text.contains("[+"), "{text}");
    assert!(!text.contains("supported") && text.contains("[possible]"), "{text}");
}

#[test]
fn a_fixed_rate_and_shares_of_the_window_say_so() {
    let of = |basis| {
        let text = render(&Explanation { basis, ..examples::explanation() });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let fixed = of(Basis::RequestAtFixedRate);
    assert!(
        fixed.contains("(fixed rate)") && !fixed.contains("asleep") && fixed.contains("sleep is left out")
    );
    let shares = of(Basis::Window);
    assert!(shares.contains("(shares of the window)") && !shares.contains("0 us"), "{shares}");
    let closed = of(Basis::Request);
    assert!(!closed.contains("fixed rate") && !closed.contains("window"));
}

#[test]
fn hostile_names_stay_on_their_line_and_drive_nothing() {
    let text = render(&examples::hostile());
    assert!(!text.contains(['\x1b', '\u{202e}']), "{text:?}");
    assert_eq!(text.lines().filter(|line| line.starts_with('&')).count(), 0, "no line of a name's own");
    let cost = ObserverEffect { arm: examples::HOSTILE.into(), blocks: 6, ratio: 1.0, interval: None };
    assert!(!observing(&[cost]).contains(['\x1b', '\u{202e}']));
}

#[test]
fn more_claims_than_are_shown_are_named() {
    let mut explanation = examples::explanation();
    explanation.claims = vec![examples::hog_claim(); CLAIMS + 2];
    let text = render(&explanation);
    assert!(text.contains("And 2 more: busy-task/program:hog, busy-task/program:hog"), "{text}");
    explanation.claims.clear();
    assert!(render(&explanation).contains("No rule claims any part of the difference."));
}

#[test]
fn observing_says_what_it_cost_each_arm() {
    let cost = |arm: &str, interval| ObserverEffect { arm: arm.into(), blocks: 6, ratio: 0.983, interval };
    let costs = [cost("cpu 0", Some((0.96, 1.002))), cost("cpu 1", None)];
    let text = observing(&costs).replace("\n  ", " ");
    assert_eq!(
        text,
        "How observing changed the figure (observed blocks decide nothing): cpu 0 -1.7 % [-4.0, +0.2], cpu 1 -1.7 % [no interval].\n"
    );
    assert_eq!(observing(&[]), "");
}
