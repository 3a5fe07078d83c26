//! The first picture: results, placements and interrupts on the machine.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machine::CpuSet;
use study::{Facts, Role, Verdict};

use crate::html::{check_nesting, of, section};
use crate::{e5, others};

fn places(facts: &Facts) -> String {
    let html = of(facts);
    check_nesting(&html);
    section(&html, "places").into()
}

/// The case in which placements of half of the machine were tried in the place of single CPUs.
fn of_halves() -> Facts {
    let mut facts = e5::facts();
    facts.evidence.against_other_cpus.clear();
    for arm in facts.study.arms.iter_mut().filter(|arm| arm.role == Role::Candidate) {
        let half = if arm.cpu.is_some_and(|cpu| cpu < 8) { "0-7" } else { "8-15" };
        arm.placement.server_cpus = Some(CpuSet::from_list(half).unwrap());
        arm.cpu = None;
    }
    facts
}

#[test]
fn the_machine_is_the_first_picture_and_has_result_and_interrupts_as_text() {
    let facts = e5::facts();
    let html = of(&facts);
    let (before, _) = html.split_once("<svg viewBox=\"0 0").unwrap();
    // Samples of legends are small drawings of their own.
    let first = before.rsplit_once("<section id=\"").unwrap().1;
    assert!(first.starts_with("places\""), "{first}");
    let places = section(&html, "places");
    for part in [
        "class=\"cell down\"",
        ">-23.7 %<",
        ">irq 21 %<",
        ">irq 0.3 %<",
        "against the other CPUs",
        "class=\"track\"",
    ] {
        assert!(places.contains(part), "{part} in {places}");
    }
    let is_better =
        facts.evidence.against_baseline.iter().any(|contrast| contrast.verdict == Verdict::Better);
    assert_eq!(places.contains("The star marks CPU "), is_better);
    assert_eq!(places.contains("No placement is shown to be better than unpinned."), !is_better);
    assert_eq!(places.matches("download=\"machine.csv\"").count(), 1);
}

#[test]
fn what_is_not_decided_has_no_colour_and_its_number_stands_in_brackets() {
    let mut facts = e5::facts();
    let evidence = &mut facts.evidence;
    for contrast in evidence.against_other_cpus.iter_mut().chain(&mut evidence.against_baseline) {
        contrast.verdict = Verdict::Undecided;
    }
    let places = places(&facts);
    for claim in ["class=\"cell down\"", "class=\"cell up\"", "class=\"cell level\""] {
        assert!(!places.contains(claim), "{claim}");
    }
    assert!(places.contains("class=\"cell open\"") && places.contains(">(-23.7 %)<"), "{places}");
    assert!(places.contains("cannot tell") && places.contains("the server there: undecided"));
    assert!(places.contains("in brackets where it is no claim"), "{places}");
}

#[test]
fn arms_without_cpus_of_the_server_are_counted_and_a_best_one_among_them_has_no_star() {
    let mut facts = e5::facts();
    let Some(contrast) = facts.evidence.against_baseline.first_mut() else { panic!("no contrast") };
    (contrast.verdict, contrast.ratio) = (Verdict::Better, 9.0);
    let name = contrast.arm.clone();
    for arm in facts.study.arms.iter_mut().filter(|arm| arm.name == name) {
        arm.placement.server_cpus = None;
    }
    let places = places(&facts);
    assert!(places.contains("Not drawn, because no CPUs are named for the server: 1 arm."), "{places}");
    assert!(places.contains("What gains most over unpinned is not drawn"), "{places}");
    assert!(!places.contains("The star marks"), "{places}");
}

#[test]
fn interrupts_that_are_not_known_are_left_out_and_the_reason_is_said() {
    let not_read = places(&others::two_cpus());
    assert!(!not_read.contains("class=\"track\"") && !not_read.contains(">irq "), "{not_read}");
    assert!(not_read.contains("the observations do not have irq and softirq of /proc/stat"), "{not_read}");
    let mut facts = others::two_cpus();
    facts.trials.iter_mut().for_each(|seen| seen.observation = None);
    assert!(places(&facts).contains("no trial has an observation"));
}

#[test]
fn placements_of_several_cpus_have_letters_in_the_cells_and_a_row_in_the_table() {
    let places = places(&of_halves());
    assert!(places.contains("class=\"letter "), "{places}");
    assert!(places.contains("Letters are the placements in the table below, against unpinned."), "{places}");
    assert!(places.contains("further placements of the study have no letter."), "{places}");
    let table = places.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    assert_eq!(table.matches("<tr>").count(), 6, "as many as have letters");
    assert!(table.contains("<th scope=\"row\" class=\"words\">A</th>") && table.contains("0-7"), "{table}");
    assert_eq!(places.matches("download=\"placements.csv\"").count(), 1);
}

#[test]
fn a_case_without_a_machine_or_without_trials_has_no_such_picture() {
    for facts in [others::unobserved(), others::empty()] {
        assert!(!of(&facts).contains("<section id=\"places\""));
    }
}

#[test]
fn what_the_colours_of_the_heat_assume_is_said() {
    let mut facts = e5::facts();
    let measured = of(&facts);
    assert!(measured.contains("below 0.5 % of the CPU") && measured.contains("from 20 %"));
    assert!(measured.contains("3.0 us an event, which the timer&#39;s interrupt was measured to cost here"));
    facts.interrupt_cost_ns = None;
    let assumed = of(&facts);
    assert!(assumed.contains("5.0 us an event, an assumption: the cost was not measured here."));
}

#[test]
fn pictures_have_their_data_beside_them() {
    let html = of(&e5::facts());
    for file in ["machine.csv", "bars.csv", "interrupts.csv", "trials.csv", "latency.csv"] {
        assert_eq!(html.matches(&format!("download=\"{file}\"")).count(), 1, "{file}");
    }
    assert!(html.contains("href=\"data:text/csv;charset=utf-8;base64,"));
}

/// What a link to data holds, as text.
fn csv(html: &str, file: &str) -> String {
    let (before, _) = html.split_once(&format!("\" download=\"{file}\"")).unwrap();
    let (_, data) = before.rsplit_once(";base64,").unwrap();
    String::from_utf8(STANDARD.decode(data).unwrap()).unwrap()
}

#[test]
fn the_data_of_the_bars_say_what_a_change_is_against() {
    let facts = e5::facts();
    let bars = csv(&of(&facts), "bars.csv");
    let row = |arm: &str| {
        let line = bars.lines().find(|line| line.starts_with(&format!("{arm},")));
        line.unwrap_or_else(|| panic!("{arm} in {bars}")).split(',').map(String::from).collect::<Vec<_>>()
    };
    assert!(bars.lines().next().unwrap().ends_with(",change_percent,low_percent,high_percent,against"));
    assert_eq!(row("cpu 5").last().unwrap(), "the other CPUs");
    let baseline = row("unpinned A");
    assert_eq!(
        (baseline[5].as_str(), baseline.last().unwrap().as_str()),
        ("", ""),
        "it is compared with none"
    );
    let control = &facts.evidence.control.as_ref().unwrap().contrast;
    assert_eq!(*row(&control.arm).last().unwrap(), control.reference);
}

#[test]
fn an_interval_that_leaves_out_0_beside_no_difference_is_explained_where_it_stands() {
    let mut facts = e5::facts();
    let evidence = &mut facts.evidence;
    let all = evidence.against_other_cpus.iter_mut().chain(&mut evidence.against_baseline);
    all.for_each(|contrast| contrast.verdict = Verdict::Equal);
    assert!(!of(&facts).contains("so an interval may leave out 0"), "equal is an answer");
    let contrast = &mut facts.evidence.against_other_cpus[2];
    (contrast.verdict, contrast.interval) = (Verdict::Undecided, Some((1.01, 1.02)));
    let name = format!("({} against the other CPUs)", contrast.arm);
    let html = of(&facts);
    for id in ["places", "bars"] {
        let part = section(&html, id);
        assert!(part.contains("so an interval may leave out 0") && part.contains(&name), "{id}: {part}");
    }
}

#[test]
fn the_heat_of_a_thousand_cpus_is_bounded_and_what_has_no_row_is_said() {
    let html = of(&crate::wide::facts(1024, 3));
    let heat = csv(&html, "interrupts.csv");
    assert!(heat.lines().count() <= 1 + 2_500 && heat.len() < 200_000, "{} bytes", heat.len());
    assert!(heat.lines().any(|line| line.starts_with("softirq time,37,")), "{heat}");
    let bars = section(&html, "bars");
    assert!(bars.contains("Cells without a row in the data: those that are 0."), "{bars}");
}
