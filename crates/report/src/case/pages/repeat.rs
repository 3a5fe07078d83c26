//! Every command needed to repeat the study, and each trial of it by hand.

use advise::Finding;
use machine::Placement;
use study::Arm;
use study::case::quoted;

use super::{About, Page};
use crate::markup::blocks::{commands, table};
use crate::{CaseView, Html, number};

/// See [`About::docs`].
pub struct Repeat;

static ABOUT: About = About {
    id: "repeat",
    title: "Repeat it",
    docs: "The commands that repeat the study, and each placement by hand.",
};

impl Page for Repeat {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let study = &case.facts.study;
        let dir = quoted(&case.case_dir);
        html.element(
            "p",
            &[],
            format!(
                "Made {} by pinwise {} with this command, from the folder in which it was started:",
                number::moment(study.made_unix_s),
                study.pinwise
            ),
        );
        commands(&mut html, &[shell_words::join(&study.command)]);
        whole_study(&mut html, case, &dir);
        by_hand(&mut html, case);
        html.element("h3", &[], "Raw files");
        html.element(
            "p",
            &[],
            "study.toml (as resolved, with the order of trials), machine.json, trials.jsonl (a line a trial), trials/NNNN/ (the counters and latencies of each). The evidence can be computed again from these files alone, on any machine:",
        );
        commands(&mut html, &[format!("pinwise report {dir} -o report.html")]);
        trials_by_arm(&mut html, case);
        html
    }
}

/// The same recipe with the same seed, and so the same order.
fn whole_study(html: &mut Html, case: &CaseView, dir: &str) {
    html.element("h3", &[], "The whole study again");
    let seed = case.facts.study.recipe.seed.map(|seed| format!(" (seed {seed})")).unwrap_or_default();
    match case.facts.study.recipe.to_toml() {
        Ok(toml) => {
            html.element(
                "p",
                &[],
                format!("Save this recipe as again.toml; it repeats the same order of trials{seed}:"),
            );
            html.scrolled("pre", "recipe", "region", "The recipe", |pre| {
                pre.lines(&toml);
            });
            if let Err(keys) = case.facts.study.recipe.revealed(&[]) {
                let keys = keys.join(", ");
                let text = format!(
                    "Reports leave secrets out. Put them in, and let nobody else read the file: {keys}."
                );
                html.element("p", &[], text);
            }
        }
        Err(fault) => {
            html.element(
                "p",
                &[],
                format!("The recipe cannot be written as TOML: {fault}. It is in study.toml."),
            );
        }
    }
    commands(html, &["pinwise study again.toml -o again".into()]);
    if case.facts.study.string_rounds.is_some() {
        html.element("p", &[], "The built-in server's work per request is calibrated again on the machine that repeats it; here it was the number of rounds shown below.");
    }
    go_on(html, case, dir);
}

/// What of this case may still be done, where there is anything.
fn go_on(html: &mut Html, case: &CaseView, dir: &str) {
    if !case.facts.is_finished() {
        html.element("p", &[], "Continue where it stopped:");
        commands(html, &[format!("pinwise resume {dir}")]);
    }
    if case.findings.iter().any(Finding::can_be_proved) {
        html.element("p", &[], "Prove or refute the findings:");
        commands(html, &[format!("pinwise explain {dir} --prove")]);
    }
}

/// Each arm as a pair of command lines.
fn by_hand(html: &mut Html, case: &CaseView) {
    html.element("h3", &[], "One trial by hand");
    let known =
        |line: &str| if line.is_empty() { "not known; see study.toml".to_string() } else { line.to_string() };
    html.element("p", &[], "Server and load as the study starts them; a load of pinwise's own reads its options from standard input there, and secrets from nowhere else (--options -):");
    commands(html, &[known(&case.commands.server), known(&case.commands.load)]);
    html.element(
        "p",
        &[],
        "Pinned by hand, arm by arm. taskset sets the affinity once; pinwise also keeps it for threads that start later, and reads back where they really ran.",
    );
    let rows: Vec<Vec<String>> = case
        .facts
        .study
        .arms
        .iter()
        .map(|arm| {
            let placement = &arm.placement;
            let server = pinned(placement.server_cpus.as_ref(), &case.commands.server, "SERVER");
            let load = pinned(placement.load_cpus.as_ref(), &case.commands.load, "LOAD");
            vec![arm.name.clone(), server, load, beside(placement)]
        })
        .collect();
    html.within("details", &[], |details| {
        details.element("summary", &[], "Command lines by arm");
        table(details, &["arm", "server", "load", "also"], &[], &rows);
    });
}

fn pinned(cpus: Option<&machine::CpuSet>, line: &str, unknown: &str) -> String {
    let line = if line.is_empty() { unknown } else { line };
    match cpus {
        Some(cpus) => format!("taskset -c {cpus} {line}"),
        None => line.to_string(),
    }
}

/// Settings and neighbours of a placement, in words.
fn beside(placement: &Placement) -> String {
    let settings = placement.all_settings().map(|s| format!("{} of {} = {}", s.knob, s.target, s.value));
    let neighbours =
        placement.neighbours.iter().map(|n| format!("next to it: taskset -c {} {}", n.cpus, n.command));
    settings.chain(neighbours).collect::<Vec<_>>().join("; ")
}

fn trials_by_arm(html: &mut Html, case: &CaseView) {
    let of = |arm: &Arm| -> String {
        let own = case.facts.trials.iter().map(|s| &s.trial).filter(|t| t.arm == arm.name);
        own.map(|t| format!("{:04}", t.index)).collect::<Vec<_>>().join(" ")
    };
    let rows: Vec<Vec<String>> =
        case.facts.study.arms.iter().map(|arm| vec![arm.name.clone(), of(arm)]).collect();
    html.within("details", &[], |details| {
        details.element("summary", &[], "Which folder of trials/ belongs to which arm");
        table(details, &["arm", "trials"], &[], &rows);
    });
}
