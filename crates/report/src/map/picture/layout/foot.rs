//! Below the machine: what the colours and marks mean, the distances between nodes, and what is not drawn.

use super::emit::Emitter;
use super::{LineStyle, Swatch, What};
use crate::map::picture::arrange::{LINE, SMALL};
use crate::map::picture::heat::{Heat, STEPS, Scale};
use crate::map::picture::measure;
use crate::map::picture::outline::{ChipKind, Distances, Mark, Outline, chip_words};
use crate::number;

/// Size of a sample.
const SAMPLE: (f64, f64) = (18.0, 13.0);
/// Room between a sample and its words.
const BESIDE: f64 = 6.0;
/// Room between one entry of the legend and the next.
const BETWEEN: f64 = 12.0;
/// Size of a distance.
const DISTANCE: (f64, f64) = (32.0, 17.0);
/// Width of the names of the rows of distances.
const ROW_NAME: f64 = 64.0;
/// A note is cut after this many characters: the sheet has it in full.
const LONGEST_NOTE: usize = 240;

/// Roughly how high all of it will be, for the choice of the page's shape.
pub(super) fn likely_height(outline: &Outline) -> f64 {
    let table = outline.distances.as_ref().map_or(0, |distances| distances.nodes.len() + 2);
    45.0 + table as f64 * DISTANCE.1 + outline.notes.len() as f64 * LINE
}

pub(super) fn emit(
    page: &mut Emitter,
    outline: &Outline,
    heat: Option<&Heat>,
    scale: Option<Scale>,
    width: f64,
) {
    if let (Some(heat), Some(scale)) = (heat, scale) {
        heat_scale(page, heat, scale, width);
        page.space(6.0);
    }
    let shown = samples(outline, heat);
    if !shown.is_empty() {
        legend(page, &shown, width);
    }
    if let Some(distances) = &outline.distances {
        page.space(10.0);
        distance_table(page, distances, width);
    }
    if !outline.notes.is_empty() {
        page.space(10.0);
        notes(page, &outline.notes, width);
    }
}

/// The marks of the machine itself, and what is not drawn of it.
pub(super) fn emit_marks(page: &mut Emitter, outline: &Outline, width: f64) {
    legend(page, &samples(outline, None), width);
    if !outline.notes.is_empty() {
        page.space(10.0);
        notes(page, &outline.notes, width);
    }
}

/// The steps of colour that are in use, with the figures at their ends.
fn heat_scale(page: &mut Emitter, heat: &Heat, scale: Scale, width: f64) {
    let (low, high) = scale.ends();
    let steps = scale.deepest() + 1;
    let [low, high] = [low, high].map(number::compact);
    let kind = if scale.is_logarithmic() { " (logarithmic)" } else { "" };
    let mut left = 0.0;
    let word = |page: &mut Emitter, left: f64, text: &str| {
        let room = measure::room(text, SMALL).min((width - left).max(0.0));
        let text = measure::cut(text, SMALL, false, room);
        let line = What::Line(LineStyle::Caption, text);
        page.at((left, 0.0), (room, LINE), String::new(), line);
        left + room + BESIDE
    };
    left = word(page, left, &format!("{}{kind}:", heat.what));
    let ends = measure::room(&low, SMALL) + measure::room(&high, SMALL) + 2.0 * BESIDE;
    if left + ends + steps.min(STEPS) as f64 * SAMPLE.0 > width {
        page.space(LINE);
        left = 0.0;
    }
    left = word(page, left, &low);
    for step in 0..steps.min(STEPS) {
        page.at((left, 0.0), SAMPLE, String::new(), What::Swatch(Swatch::Heat(step)));
        left += SAMPLE.0;
    }
    if steps > 1 {
        word(page, left + BESIDE, &high);
    }
    page.space(LINE);
}

/// The samples that this picture needs, with their words.
fn samples(outline: &Outline, heat: Option<&Heat>) -> Vec<(Swatch, String)> {
    let mut samples = vec![(Swatch::Cpu, "CPU with its number".to_string())];
    if outline.cores().any(|core| core.cpus.len() > 1) {
        samples.push((Swatch::Threads, "threads of one core".to_string()));
    }
    let unknown =
        |heat: &Heat| outline.faces.keys().any(|cpu| heat.words(*cpu).is_none() && online(outline, *cpu));
    if heat.is_some_and(unknown) {
        samples.push((Swatch::NoHeat, "CPU without a figure".into()));
    }
    let marked = |mark: &Mark| outline.faces.values().any(|face| face.marks.contains(mark));
    samples
        .extend(Mark::ALL.into_iter().filter(marked).map(|mark| (Swatch::Mark(mark), mark.words().into())));
    let hangs =
        |kind: &ChipKind| outline.groups.iter().any(|g| g.chips.iter().any(|chip| chip.kind == *kind));
    let kinds = [ChipKind::Net, ChipKind::Disk, ChipKind::Gpu, ChipKind::Other].into_iter().filter(hangs);
    samples.extend(kinds.map(|kind| (Swatch::Chip(kind), chip_words(kind).into())));
    samples
}

fn online(outline: &Outline, cpu: u32) -> bool {
    outline.faces.get(&cpu).is_some_and(|face| !face.marks.contains(&Mark::Offline))
}

fn legend(page: &mut Emitter, samples: &[(Swatch, String)], width: f64) {
    let mut left = 0.0;
    for (swatch, words) in samples {
        let room = SAMPLE.0 + BESIDE + measure::room(words, SMALL);
        if left > 0.0 && left + room > width {
            page.space(LINE + 4.0);
            left = 0.0;
        }
        page.at((left, 0.5), SAMPLE, String::new(), What::Swatch(*swatch));
        let line = What::Line(LineStyle::Caption, words.clone());
        page.at((left + SAMPLE.0 + BESIDE, 0.0), (room - SAMPLE.0 - BESIDE, LINE), String::new(), line);
        left += room + BETWEEN;
    }
    page.space(LINE);
}

fn distance_table(page: &mut Emitter, distances: &Distances, width: f64) {
    let words = "distances between nodes as the firmware reports them (10 is local)";
    page.line(LineStyle::Caption, measure::cut(words, SMALL, false, width), width, LINE + 3.0);
    let farthest = distances.rows.iter().flatten().flatten().max().copied().unwrap_or(10).max(11);
    let centred = |text: String| What::Line(LineStyle::Centred, text);
    for (i, node) in distances.nodes.iter().enumerate() {
        let left = ROW_NAME + i as f64 * DISTANCE.0;
        page.at((left, 0.0), DISTANCE, String::new(), centred(node.to_string()));
    }
    page.space(DISTANCE.1);
    for (node, row) in distances.nodes.iter().zip(&distances.rows) {
        let name = What::Line(LineStyle::Caption, format!("node {node}"));
        page.at((0.0, 0.0), (ROW_NAME, DISTANCE.1), String::new(), name);
        for (i, (to, distance)) in distances.nodes.iter().zip(row).enumerate() {
            let shade = distance.map_or(0, |d| (d.saturating_sub(10) * 4).div_ceil(farthest - 10).min(4));
            let text = distance.map_or("-".to_string(), |d| d.to_string());
            let title = format!("from node {node} to node {to}: {text}");
            let left = ROW_NAME + i as f64 * DISTANCE.0;
            page.at((left, 0.0), DISTANCE, title, What::Distance(text, shade as usize));
        }
        page.space(DISTANCE.1);
    }
}

fn notes(page: &mut Emitter, notes: &[String], width: f64) {
    for note in notes {
        let note: String = match note.chars().count() > LONGEST_NOTE {
            true => note.chars().take(LONGEST_NOTE).chain("...".chars()).collect(),
            false => note.clone(),
        };
        for line in measure::lines(&note, SMALL, false, width) {
            page.line(LineStyle::Caption, line, width, LINE);
        }
    }
}
