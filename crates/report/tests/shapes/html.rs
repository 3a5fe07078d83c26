//! The HTML report.

use std::collections::BTreeMap;

use advise::Explained;
use machine::devices::path::{NetworkPath, PathEnd};
use report::case::html;
use report::case::junit;
use report::{CaseView, Commands};
use study::evidence::AlsoCompared;
use study::{Direction, Facts, Role};

use crate::{build, e5, others, scaling};

pub fn of(facts: &Facts) -> String {
    html::render(&CaseView {
        facts,
        findings: &[],
        explained: &Explained::of(facts),
        latency: build::latency(facts),
        operations: BTreeMap::new(),
        commands: Commands::default(),
        case_dir: "case".into(),
        machine_text: String::new(),
    })
}

fn e5_html() -> String {
    let facts = e5::facts();
    let findings = e5::findings(&facts);
    html::render(&e5::view(&facts, &findings, &Explained::of(&facts)))
}

/// The page with these elements empty: what stands in them is no HTML.
pub fn without_texts_of(html: &str, tag: &str) -> String {
    let (start, end) = (format!("<{tag}"), format!("</{tag}>"));
    let mut parts = html.split(start.as_str());
    let mut kept = parts.next().unwrap().to_string();
    for part in parts {
        let (attributes, rest) = part.split_once('>').unwrap();
        let (_, rest) = rest.split_once(end.as_str()).unwrap();
        kept += &format!("{start}{attributes}>{end}{rest}");
    }
    kept
}

/// Every start tag has its end tag, in order; void elements have none. Holds for the HTML that we write.
pub fn check_nesting(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let html = without_texts_of(&without_texts_of(html, "style"), "script");
    let mut rest = html.as_str();
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        let name = tag.split([' ', '\n']).next().unwrap();
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "near {}", &rest[..end.min(80)]),
            None if name.starts_with('!') || ["meta", "br", "hr"].contains(&name) => {}
            None => {
                let open_name = html[html.len() - rest.len() + start + 1..].split([' ', '>']).next().unwrap();
                open.push(open_name);
            }
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn numbers_without_bound_are_shown() {
    let facts = others::boundless();
    check_nesting(&of(&facts));
    let timed = |facts: &Facts| junit::render(facts).unwrap().unwrap().contains("time=\"");
    assert!(!timed(&facts), "no time can say how long its trials took");
    let mut sound = facts;
    sound.trials.iter_mut().for_each(|seen| seen.trial.took_s = 2.9);
    assert!(timed(&sound));
}

#[test]
fn the_report_is_one_file_that_needs_nothing_else() {
    let html = e5_html();
    for outside in ["http://", "https://", "<link", "@import", "url(", "src="] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(html.matches("<script").count(), 2, "data, and the viewer");
    assert!(html.starts_with("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"));
    check_nesting(&html);
}

#[test]
fn the_title_says_which_server_where_and_what_is_best_or_slow_by_how_much() {
    let title = |facts: &Facts| {
        let html = of(facts);
        html.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0.to_string()
    };
    let mut facts = e5::facts();
    let answer = "CPUs 5, 13 and 14 are slow; CPU 5 most: 23.7 % fewer requests/s than on the other CPUs";
    assert_eq!(title(&facts), format!("string-server on 16 CPUs: {answer}"));
    facts.study.recipe.server.command = "/usr/sbin/nats-server -p {port}".parse().unwrap();
    assert_eq!(title(&facts), format!("nats-server on 16 CPUs: {answer}"));
    facts.study.recipe.server.command = "sh -c 'nats-server & wait'".parse().unwrap();
    assert_eq!(title(&facts), format!("{} on 16 CPUs: {answer}", facts.study.recipe.name));
    facts.study.recipe.server.running = Some("4711".into());
    facts.machine.cpus.clear();
    assert_eq!(title(&facts), format!("process 4711: {answer}"));
}

#[test]
fn every_page_that_applies_is_there_and_linked() {
    let html = e5_html();
    let evidence = e5::facts().evidence;
    assert!(evidence.cliffs.is_empty() && evidence.growth.is_empty() && evidence.search.is_none());
    for page in report::case::pages::ALL {
        let id = page.about().id;
        let (part, link) = (format!("<section id=\"{id}\""), format!("href=\"#{id}\""));
        let applies = match id {
            "cliff" | "hosts" | "scaling" | "search" => false,
            "effects" => !evidence.effects.is_empty() || !evidence.also.is_empty(),
            _ => true,
        };
        assert_eq!((html.contains(&part), html.contains(&link)), (applies, applies), "{id}");
    }
    let scales = of(&scaling::facts("[1, 6, 24]"));
    assert!(scales.contains("<section id=\"scaling\"") && scales.contains("href=\"#scaling\""));
}

#[test]
fn the_path_to_a_load_host_is_shown_where_it_was_recorded_and_ends_that_are_not_alike_are_named() {
    let mut facts = e5::facts();
    let end = |mtu_bytes| PathEnd { mtu_bytes: Some(mtu_bytes), ..PathEnd::default() };
    facts.paths = vec![NetworkPath { host: "b<".into(), server: end(1500), load: end(9000) }];
    let html = of(&facts);
    assert!(html.contains("<section id=\"hosts\"") && html.contains("b&lt;"), "{html}");
    assert!(html.contains("no packet between them can be larger than 1500 bytes"), "{html}");
    check_nesting(&html);
}

#[test]
fn the_answer_the_heat_and_the_commands_are_there() {
    let html = e5_html();
    for part in [
        "CPUs 5, 13 and 14 are slow; CPU 5 most: 23.",
        "Why: IRQ 85 (p7p1-rx-0) takes CPU 5 (supported)",
        "7,074",
        "class=\"cell h7\"",
        "taskset -c 5 ./string-server --port {port} --rounds 400",
        "taskset -c 0-4,6-15 ./string-load",
        "pinwise explain &#39;my case&#39; --prove",
        "sibling of 13",
        "every trial",
        "no cgroup file system is mounted",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn drawings_are_named_for_those_who_cannot_see_them() {
    let html = e5_html();
    let drawings = html.matches("<svg viewBox").count();
    assert_eq!(drawings, 4);
    assert_eq!(html.matches("role=\"img\" aria-label=\"").count(), drawings);
}

#[test]
fn names_from_outside_cannot_inject() {
    let html = of(&others::hostile());
    assert_eq!((html.matches("<script").count(), html.matches("</script").count()), (2, 2), "injected");
    assert!(!html.contains("onload='") && !html.contains("</svg><script"), "injected");
    assert!(html.contains("&lt;script&gt;"), "the name is shown as text");
    assert!(!html.contains('\x1b') && !html.contains('\u{202e}'));
    check_nesting(&html);
}

#[test]
fn a_case_without_trials_still_gives_a_report() {
    let html = of(&others::empty());
    assert!(html.contains("Nothing measured yet") && html.contains("<section id=\"summary\""));
    for id in ["bars", "findings", "latency", "time"] {
        assert!(!html.contains(&format!("<section id=\"{id}\"")), "{id} has nothing to say");
    }
    check_nesting(&html);
}

#[test]
fn a_case_without_observations_has_bars_but_no_heat() {
    let html = of(&others::unobserved());
    assert!(html.contains("class=\"bar slow\"") && !html.contains("class=\"cell"));
    assert!(html.contains("Permission denied: run as root"));
}

#[test]
fn many_cpus_become_a_strip() {
    let html = of(&others::many(256));
    assert!(html.contains("class=\"bar slow\"") && !html.contains("cell-text\""));
    // Two slow CPUs, the baseline, the dose, and server and load on one CPU: nothing else has dots.
    assert!(
        html.matches("class=\"dot pinned\"").count() <= 1 + 15,
        "one in the legend, one a block of 'both on cpu 0'"
    );
    assert!(html.len() < 4_000_000, "{} bytes", html.len());
    check_nesting(&html);
}

#[test]
fn one_cpu_alone_is_no_comparison() {
    let html = of(&others::many(1));
    assert!(html.contains("class=\"bar pinned\""));
    check_nesting(&html);
}

#[test]
fn a_proof_is_shown_with_what_came_out() {
    let facts = e5::facts();
    let findings = e5::proved(&facts);
    let html = html::render(&e5::view(&facts, &findings, &Explained::of(&facts)));
    assert!(html.contains("held: +31.0 % [+29.0, +33.0]") && html.contains("proofs/0000"), "the outcome");
    check_nesting(&html);
}

/// The section of a page, without the others.
pub fn section<'a>(html: &'a str, id: &str) -> &'a str {
    let (_, section) = html.split_once(&format!("<section id=\"{id}\"")).unwrap();
    section.split_once("</section>").unwrap().0
}

#[test]
fn a_study_that_scales_has_a_curve_an_order_of_filling() {
    let facts = scaling::facts("[1, 2, 4, 6, 9, 12, 18, 24]");
    let html = of(&facts);
    check_nesting(&html);
    let page = section(&html, "scaling");
    let count = |part: &str| page.matches(part).count();
    // One a legend and one a drawing, of each order.
    assert_eq!((count("class=\"curve fast\""), count("class=\"curve unpinned\"")), (2, 2), "{page}");
    assert_eq!((count("class=\"law-band"), count("class=\"ideal\"")), (2, 2));
    assert_eq!(count("<circle"), 2 * 8 * 10, "a dot a trial");
    let knees = facts.evidence.growth.iter().filter(|growth| growth.law.as_ref().unwrap().knee.is_some());
    assert_eq!(count(">knee "), knees.count());
    for growth in &facts.evidence.growth {
        assert!(page.contains(growth.fill.word()));
        let law = growth.law.as_ref().unwrap();
        let last = law.curve.last().unwrap();
        assert!(page.contains(&report::number::figure(last.measured)), "{last:?}");
    }
}

#[test]
fn too_few_numbers_of_cpus_are_shown_without_a_law() {
    let html = of(&scaling::facts("[1, 6, 24]"));
    check_nesting(&html);
    let page = section(&html, "scaling");
    assert_eq!((page.matches("<circle").count(), page.matches("law-band").count()), (2 * 3 * 10, 0));
    assert!(page.contains("No law: three numbers are fitted"), "{page}");
}

#[test]
fn the_baseline_has_its_own_name_in_answer_and_methods() {
    let mut facts = e5::facts();
    assert!(section(&of(&facts), "summary").contains("Unpinned: mean "));
    for copy in facts.evidence.arms.iter_mut().filter_map(|arm| arm.copy.as_mut()) {
        copy.of = "node 0".into();
    }
    let html = of(&facts);
    let (summary, methods) = (section(&html, "summary"), section(&html, "methods"));
    assert!(summary.contains("Node 0: mean ") && !summary.contains("Unpinned: mean "), "{summary}");
    assert!(methods.contains("every arm against node 0; every CPU against the median"), "{methods}");
    facts.evidence.against_other_cpus.clear();
    let html = of(&facts);
    assert!(!section(&html, "methods").contains("two families"), "there is one");
}

#[test]
fn what_cannot_be_done_any_more_is_no_command() {
    let repeat = |html: &str| section(html, "repeat").to_string();
    let unfinished = repeat(&of(&others::empty()));
    assert_eq!(unfinished.contains("pinwise resume case"), !others::empty().is_finished());
    let finished = e5::facts();
    let without_findings = repeat(&of(&finished));
    assert_eq!(without_findings.contains("pinwise resume"), !finished.is_finished());
    assert!(!without_findings.contains("--prove"), "{without_findings}");
    assert!(repeat(&e5_html()).contains("explain &#39;my case&#39; --prove"));
}

#[test]
fn methods_say_what_was_not_read_and_explain_no_words_that_do_not_occur() {
    let mut facts = others::two_cpus();
    assert!(section(&of(&facts), "methods").contains("samples a second during the window, which took "));
    facts.trials.iter_mut().for_each(|seen| seen.observation = None);
    let html = of(&facts);
    let methods = section(&html, "methods");
    assert!(methods.contains("not read: no trial has an observation"), "{methods}");
    assert!(!methods.contains("<dt>imitated</dt>"), "there are no findings");
    assert!(section(&e5_html(), "methods").contains("<dt>imitated</dt>"));
}

#[test]
fn a_kernel_of_which_nothing_is_known_is_not_an_empty_line() {
    let mut facts = e5::facts();
    assert!(section(&of(&facts), "machine").contains("<dt>kernel</dt><dd>3.10.0-123.el7 x86_64</dd>"));
    (facts.machine.kernel.release, facts.machine.kernel.architecture) = (None, None);
    assert!(section(&of(&facts), "machine").contains("<dt>kernel</dt><dd>not known</dd>"));
}

#[test]
fn columns_without_cpus_are_called_arms() {
    let mut facts = e5::facts();
    let axis = |facts: &Facts| {
        let html = of(facts);
        [">server on CPU</text>", ">arm</text>"].map(|words| section(&html, "bars").contains(words))
    };
    let headed = |facts: &Facts| {
        let html = of(facts);
        ["CPU by CPU", "Arm by arm"].map(|title| {
            let is_linked = html.contains(&format!("<a href=\"#bars\">{title}</a>"));
            is_linked && section(&html, "bars").contains(&format!(">{title}</h2>"))
        })
    };
    let named = |facts: &Facts| {
        let (html, metric) = (of(facts), &facts.evidence.metric);
        ["by CPU", "by arm"].map(|by| section(&html, "bars").contains(&format!("CSV: {metric} {by}\"")))
    };
    let expected = [true, false];
    assert_eq!((axis(&facts), headed(&facts), named(&facts)), (expected, expected, expected));
    facts.evidence.arms.iter_mut().for_each(|arm| arm.cpu = None);
    let expected = [false, true];
    assert_eq!((axis(&facts), headed(&facts), named(&facts)), (expected, expected, expected));
}

#[test]
fn a_study_without_a_name_is_called_by_what_its_columns_are() {
    let heading = |facts: &Facts| {
        let html = of(facts);
        html.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0.to_string()
    };
    let mut facts = others::two_cpus();
    facts.study.recipe.name = "Named".into();
    assert_eq!(heading(&facts), "Named");
    facts.study.recipe.name.clear();
    let metric = facts.study.recipe.metric.clone();
    let [by_cpu, by_arm] = ["CPU", "arm"].map(|columns| format!("{metric} by {columns}"));
    assert_eq!(heading(&facts), by_cpu, "some arms have a CPU");
    for arm in &mut facts.evidence.arms {
        // The baseline has no column of a CPU, wherever it runs.
        arm.cpu = (arm.role == Role::Baseline).then_some(0);
    }
    assert_eq!(heading(&facts), by_arm);
    let mut unmeasured = others::empty();
    unmeasured.study.recipe.name.clear();
    assert_eq!(heading(&unmeasured), by_cpu, "what is planned");
    unmeasured.study.arms.iter_mut().for_each(|arm| arm.cpu = None);
    assert_eq!(heading(&unmeasured), by_arm);
}

#[test]
fn what_the_tab_key_reaches_has_a_role_and_a_name() {
    let html = e5_html();
    let mut reached = html.split('<').filter(|tag| tag.contains("tabindex=\"0\"")).peekable();
    assert!(reached.peek().is_some(), "tables and drawings");
    for tag in reached {
        assert!(tag.contains(" role=\"") && tag.contains(" aria-label=\""), "{tag}");
    }
}

#[test]
fn every_head_of_a_table_has_words_and_every_scrolled_table_a_name() {
    let html = e5_html();
    assert!(!html.contains("<th scope=\"col\" class=\"words\"></th>"), "a head without words");
    let frames = html.matches("<div class=\"scroll\"").count();
    assert_eq!(html.matches("<div class=\"scroll\" role=\"region\" aria-label=\"Table: ").count(), frames);
}

#[test]
fn a_second_figure_that_no_block_has_is_a_sentence_and_no_empty_table() {
    let mut facts = e5::facts();
    facts.evidence.also = vec![AlsoCompared {
        metric: "power_w".into(),
        unit: "W".into(),
        better: Direction::Lower,
        blocks: 0,
        against_baseline: Vec::new(),
    }];
    let html = of(&facts);
    let effects = section(&html, "effects");
    assert!(effects.contains("No complete block has it.") && !effects.contains("<table>"), "{effects}");
}
