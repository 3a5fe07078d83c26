//! The first picture: the machine, with what came of the server on each CPU or placement, and what interrupts take of each CPU.

mod cells;
mod numbers;
mod placements;
mod words;

use std::collections::BTreeSet;

use super::{About, Page};
use crate::case::drawings::bars;
use crate::case::heat::{self, interrupt_share};
use crate::case::page::interval_note::note;
use crate::case::result_words;
use crate::map::picture::{self, Bar};
use crate::markup::blocks::legend;
use crate::{CaseView, Html};
use placements::{Outcome, Placements, Tried};

/// See [`About::docs`].
pub struct Places;

static ABOUT: About = About {
    id: "places",
    title: "Results on the machine",
    docs: "The machine with what came of the server on each CPU or placement that was tried, which is best, and what interrupts take of each CPU.",
};

/// Placements that have a letter in the picture, at most.
const MOST_LETTERS: usize = 6;

impl Page for Places {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let facts = case.facts;
        let tried = placements::of(facts);
        let interrupts = interrupt_share::read(facts);
        let says_something = !tried.is_empty() || interrupts.is_ok();
        if facts.machine.cpus.is_empty() || facts.trials.is_empty() || !says_something {
            return html;
        }
        let shown = Shown { placements: &tried, lettered: lettered(&tried) };
        if !bars::claims_may_be_made(facts) {
            html.element(
                "p",
                &[("class", &"warning")],
                "No claim is made from these figures: see the controls above.",
            );
        }
        what_is_drawn(&mut html, &shown, interrupts.is_ok(), facts.evidence.precision.margin);
        let overlay = cells::overlay(facts, &shown, interrupts.as_ref().ok());
        let title = "The machine with the result and the interrupts of each CPU";
        html.add(&picture::noted(&facts.machine, &overlay, title, "The tables below have all numbers."));
        html.element("p", &[("class", &"caption")], words::caption(facts, &shown, &interrupts));
        let contrasts = tried.all().filter_map(|tried| tried.contrast);
        note(&mut html, &facts.evidence, &result_words::surprising_contrasts(&facts.evidence, contrasts));
        numbers::lettered(&mut html, facts, &shown);
        numbers::by_cpu(&mut html, facts, &shown, interrupts.as_ref().ok());
        html
    }
}

/// What the picture shows of the placements.
struct Shown<'a> {
    placements: &'a Placements<'a>,
    /// Those that have a letter, in its order.
    lettered: Vec<&'a Tried<'a>>,
}

impl Shown<'_> {
    /// What was tried on this CPU alone.
    fn on(&self, cpu: u32) -> Option<&Tried<'_>> {
        self.placements.cpus.iter().find(|(of, _)| *of == cpu).map(|(_, tried)| tried)
    }

    /// The letters of the placements that hold this CPU, each by its place.
    fn letters_on(&self, cpu: u32) -> impl Iterator<Item = (usize, &Tried<'_>)> {
        self.lettered
            .iter()
            .enumerate()
            .filter(move |(_, tried)| tried.cpus.contains(cpu))
            .map(|(i, tried)| (i, *tried))
    }
}

/// The placements that have letters: all where they are few, else the best, what the others are held against, and those that differ from
/// it.
fn lettered<'a>(placements: &'a Placements<'a>) -> Vec<&'a Tried<'a>> {
    let rank = |tried: &Tried| match tried.outcome {
        _ if placements.is_best(tried) => 0,
        Outcome::Reference => 1,
        Outcome::Better | Outcome::Worse => 2,
        _ => 3,
    };
    let mut ranked: Vec<(usize, &Tried)> = placements.sets.iter().enumerate().collect();
    ranked.sort_by_key(|(place, tried)| (rank(tried), *place));
    ranked.truncate(MOST_LETTERS);
    ranked.sort_by_key(|(place, _)| *place);
    ranked.into_iter().map(|(_, tried)| tried).collect()
}

/// What an entry of the legend explains.
#[derive(Clone, Copy)]
enum Entry {
    Outcome(Outcome),
    Best,
    Interrupts,
}

fn what_is_drawn(html: &mut Html, shown: &Shown, has_interrupts: bool, margin: f64) {
    let own = shown.placements.cpus.iter().map(|(_, tried)| tried.outcome);
    let present: BTreeSet<Outcome> = own.chain(shown.lettered.iter().map(|tried| tried.outcome)).collect();
    let signed = present.into_iter().filter(|outcome| cells::sign(*outcome).is_some());
    let mut entries: Vec<(Entry, String)> =
        signed.map(|outcome| (Entry::Outcome(outcome), words::outcome(outcome, margin))).collect();
    entries.extend(shown.placements.best.map(|_| (Entry::Best, "the largest gain".to_string())));
    entries.extend(
        has_interrupts.then(|| (Entry::Interrupts, "share of the CPU that interrupts take".to_string())),
    );
    let entries: Vec<(Entry, &str)> = entries.iter().map(|(entry, words)| (*entry, words.as_str())).collect();
    if !entries.is_empty() {
        legend(html, &entries, &sample);
    }
}

fn sample(svg: &mut Html, entry: Entry) {
    match entry {
        Entry::Outcome(outcome) => {
            if let Some(sign) = cells::sign(outcome) {
                picture::sign_sample(svg, sign);
            }
        }
        Entry::Best => picture::star_sample(svg),
        Entry::Interrupts => picture::bar_sample(svg, Bar { share: 0.6, shade: heat::shade(0.6) }),
    }
}
