//! The terminal table.

use std::path::Path;

use report::case::table::{self, Style};
use study::evidence::CpuUse;

use crate::{e5, others};

fn at(width: usize) -> Style {
    Style { colour: false, width }
}

fn render(facts: &study::Facts, findings: &[advise::Finding], style: Style) -> String {
    table::render(facts, findings, Path::new("my case"), style)
}

fn e5_text(width: usize) -> String {
    let facts = e5::facts();
    render(&facts, &e5::findings(&facts), at(width))
}

/// Text without its line breaks, for sentences that are broken somewhere.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_slow_cpu_and_why_stand_first() {
    let text = e5_text(80);
    assert!(
        text.starts_with("CPUs 5, 13 and 14 are slow; CPU 5 most: 23.7 % fewer requests/s than on the"),
        "{text}"
    );
    let text = flat(&text);
    assert!(text.contains("Why: IRQ 85 (p7p1-rx-0) takes CPU 5 (supported)."), "{text}");
    assert!(text.contains("CPU 14: -3.7 %") && text.contains("Why: no rule explains it."), "{text}");
}

#[test]
fn figures_are_the_published_ones() {
    let text = e5_text(120);
    for row in [
        "cpu 0          10,244   47",
        "cpu 5           7,807   41",
        "cpu 13          8,874   44",
        "cpu 15         10,352   55",
        "unpinned        9,523  8",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [80, 100, 120, 160] {
        // Commands are left whole, so that they can be copied.
        for line in e5_text(width).lines().filter(|l| !l.contains(" $ ")) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn unpinned_is_said_to_be_a_mixture() {
    let text = e5_text(120);
    let ran = "The baseline ran 31 % of its time on CPU 5, 18 % on CPU 13, 17 % on CPU 0, 14 % on CPU 2, 20 % on 3 others.";
    assert!(flat(&text).contains(ran), "{text}");
    assert!(text.contains("Unpinned is a mixture, not a mean: its trials spread 1"), "{text}");
    assert!(text.contains("it spent 55 % of its time on the slow CPUs 5,13-14"), "{text}");
}

#[test]
fn controls_and_findings_and_what_is_missing_are_told() {
    let text = e5_text(80);
    assert!(text.contains("     $ echo 7 | sudo tee /proc/irq/85/smp_affinity_list\n"), "{text}");
    let text = flat(&text);
    for part in [
        "baseline, twice",
        "dose",
        "the dose was seen",
        "No difference was seen between the two runs of the baseline",
        "Findings",
        "7,074",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(text.matches("without schedstats").count(), 1, "{text}");
    assert!(text.contains("[every trial]"), "{text}");
}

#[test]
fn colour_only_where_it_is_wanted() {
    let facts = e5::facts();
    let coloured = render(&facts, &[], Style { colour: true, width: 80 });
    let mut plain = coloured.clone();
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[36m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, render(&facts, &[], at(80)));
    assert!(coloured.contains("\x1b[1;31m"));
}

#[test]
fn two_cpus_name_the_slow_one() {
    let text = render(&others::two_cpus(), &[], at(80));
    assert!(text.starts_with("CPU 0 is slow: 28.6 % fewer requests/s than on the other CPU\n"), "{text}");
    assert!(
        flat(&text)
            .contains("CPU 0: -28.6 % [-30.0, -26.8] against the other CPU. Why: no rule explains it."),
        "{text}"
    );
    assert!(flat(&text).contains("CPU 1 (server on CPU 1, load on CPU 0): +16."), "{text}");
    assert!(text.contains("None: no rule explains"), "{text}");
}

#[test]
fn many_cpus_share_rows_about_which_there_is_nothing_to_say() {
    let text = render(&others::many(256), &[], at(80));
    assert!(text.starts_with("CPUs 37 and 200 are slow; CPU 37 most: 23.5 %"), "{text}");
    assert!(text.contains("\ncpu 37 ") && text.contains("\ncpu 200 "), "{text}");
    assert!(text.contains("254 CPUs") && text.contains("CPUs 0-36,38-199,201-255"), "{text}");
    assert!(text.lines().count() < 60, "{text}");
}

#[test]
fn an_empty_case_says_that_nothing_is_measured() {
    let text = render(&others::empty(), &[], at(80));
    assert!(text.starts_with("Nothing measured yet\n"), "{text}");
    assert!(text.contains("0 of 7 trials were run"), "{text}");
}

#[test]
fn without_observations_the_figures_stand_and_the_reason_is_told_once() {
    let text = flat(&render(&others::unobserved(), &[], at(80)));
    assert!(
        text.contains("/proc/1000/stat: Permission denied: run as root [every trial (and 69 more like it)]"),
        "{text}"
    );
    assert!(!text.contains("The baseline ran"), "{text}");
}

#[test]
fn a_hostile_name_cannot_drive_the_terminal() {
    let text = render(&others::hostile(), &[], at(80));
    assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{text:?}");
}

#[test]
fn failed_controls_are_told_instead_of_a_claim() {
    let mut facts = e5::facts();
    facts.evidence.trust = study::Trust::Untrustworthy { ratio: 1.2 };
    for contrast in facts.evidence.against_other_cpus.iter_mut() {
        contrast.verdict = study::Verdict::Untrustworthy;
    }
    let text = render(&facts, &[], at(80));
    assert!(text.starts_with("Cannot tell: the baseline differed from itself by 20.0 %\n"), "{text}");
}

#[test]
fn a_proof_is_told_with_what_came_out() {
    let facts = e5::facts();
    let text = flat(&render(&facts, &e5::proved(&facts), at(80)));
    assert!(text.contains("1. IRQ 85 (p7p1-rx-0) takes CPU 5 [proved]"), "{text}");
    assert!(text.contains("becomes faster when IRQ 85 is on CPU 7 - held: +31.0 % [+29.0, +33.0]"), "{text}");
}

#[test]
fn every_answer_ends_with_what_to_do_next() {
    for facts in [e5::facts(), others::two_cpus(), others::many(4), others::empty(), others::unobserved()] {
        let text = render(&facts, &advise::examine(&facts), at(80));
        let next = text.split("\nNext\n").nth(1).unwrap_or_else(|| panic!("{text}"));
        let commands: Vec<&str> = next.lines().filter_map(|line| line.strip_prefix("     $ ")).collect();
        assert!(!commands.is_empty() || next.contains("(--rate)"), "{text}");
        assert!(!text.contains(" CASE"), "{text}");
    }
    let text = e5_text(80);
    assert!(text.contains("\n     $ pinwise explain 'my case' --prove\n"), "{text}");
}

#[test]
fn a_housekeeping_cpu_without_time_left_is_a_note() {
    let mut facts = others::two_cpus();
    let of_cpu_1 = |arm: &study::Arm| arm.cpu == Some(1);
    let arm = facts.study.arms.iter_mut().find(|arm| of_cpu_1(arm)).unwrap();
    let cpus = machine::CpuSet::single(0);
    arm.placement.housekeeping = Some(machine::plan::Housekeeping { cpus, settings: Vec::new() });
    let name = arm.name.clone();
    let note = "housekeeping CPU 0 was 97 % busy in 'cpu 1'";
    assert!(!flat(&render(&facts, &[], at(120))).contains(note), "how busy it was is not known");
    for seen in facts.trials.iter_mut().filter(|seen| seen.trial.arm == name) {
        let observation = seen.observation.as_mut().unwrap();
        let idle_us = (observation.window_s() * 30_000.0) as u64;
        observation.counters.push(probe::Counter {
            probe: "stat".into(),
            name: "idle".into(),
            label: String::new(),
            unit: "us".into(),
            by_cpu: [(0, idle_us)].into(),
        });
    }
    let text = flat(&render(&facts, &[], at(120)));
    assert!(text.contains(note), "{text}");
}

#[test]
fn cpu_time_of_server_and_load_stands_beside_the_figures() {
    let mut facts = others::two_cpus();
    assert!(!render(&facts, &[], at(100)).contains("srv/load"), "it is not known there");
    let used = |used_cpus, busiest_share| CpuUse {
        used_cpus: Some(used_cpus),
        busiest_share: Some(busiest_share),
        may_use_cpus: Some(2.0),
    };
    for arm in &mut facts.evidence.arms {
        (arm.server_cpus, arm.load_cpus) = (used(0.961, 0.06), used(0.204, 0.2));
    }
    let text = render(&facts, &[], at(100));
    assert!(text.contains("CPUs ") && text.contains(" 0.96/0.20"), "{text}");
    assert!(text.contains("\nCPUs: CPU time of all threads.\n"), "{text}");
    for arm in &mut facts.evidence.arms {
        (arm.server_cpus, arm.load_cpus) = (used(0.961, 0.96), CpuUse::default());
    }
    let text = render(&facts, &[], at(100));
    assert!(
        text.contains(" 0.96*/-") && text.contains("\nCPUs: CPU time of all threads. *: one thread is full"),
        "{text}"
    );
}

#[test]
fn names_that_are_too_long_stand_whole_above_their_figures() {
    let mut facts = others::two_cpus();
    let long = |end: &str| format!("a placement whose name is long and differs only at its end {end}");
    for (old, new) in [("cpu 0", long("0")), ("cpu 1", long("1"))] {
        facts.evidence.arms.iter_mut().filter(|arm| arm.arm == old).for_each(|arm| arm.arm = new.clone());
    }
    let text = render(&facts, &[], at(80));
    assert!([long("0"), long("1")].iter().all(|name| text.contains(&format!("\n{name}\n"))), "{text}");
}

#[test]
fn what_the_machine_does_not_have_is_one_line_and_the_rest_has_its_reason() {
    let mut facts = others::two_cpus();
    for seen in &mut facts.trials {
        let facts = ["cpufreq", "cpuidle", "intervals of the load"];
        seen.trial.missing.extend(facts.map(|fact| machine::Missing::new(fact, "there is none")));
    }
    let text = render(&facts, &[], at(80));
    assert!(text.contains("  - this machine has no cpufreq or cpuidle (why: report.html)\n"), "{text}");
    assert!(text.contains("  - intervals of the load: there is none [every trial]\n"), "{text}");
    // One that was there in a trial is none that the machine does not have.
    facts.trials[0].trial.missing.clear();
    let text = render(&facts, &[], at(80));
    assert!(text.contains("  - cpufreq: there is none [") && !text.contains("this machine has no"), "{text}");
}

#[test]
fn memory_where_the_server_ran_stands_beside_what_the_map_predicts() {
    let mut facts = others::two_cpus();
    for arm in &mut facts.evidence.arms {
        arm.others.insert("memory_local_share".into(), if arm.cpu.is_some() { 0.98 } else { 0.52 });
    }
    assert!(!render(&facts, &[], at(100)).contains("Share of the server's memory"), "there is one node");
    facts.machine.nodes =
        (0..2).map(|id| machine::topology::nodes::Node { id, ..Default::default() }).collect();
    let text = flat(&render(&facts, &[], at(100)));
    let sentence = "Share of the server's memory on the node where it ran: unpinned A 52 %, unpinned B 52 %, cpu 0 98 %, cpu 1 98 %";
    assert!(
        text.contains(sentence) && text.contains("Spread evenly over 2 nodes, it would be 50 %."),
        "{text}"
    );
}
