//! The machine as a picture: what `pinwise map --format svg` and `--format html` print.
//!
//! Four steps, each of which can be looked at alone: [`outline`] decides what is within what, `arrange` how large
//! each group is, [`layout`] where everything stands on the page, [`draw`] writes SVG. The same machine and heat
//! always give the same bytes.

mod arrange;
pub mod draw;
pub mod heat;
pub mod layout;
pub mod measure;
pub mod outline;
pub mod overlay;
mod page;

use machine::Machine;

use crate::Html;
pub use draw::{bar_sample, sign_sample, star_sample};
pub use heat::Heat;
use outline::Outline;
pub use overlay::{Bar, CellNote, Overlay, Sign};

/// A wider picture is not shrunk to the page, where its numbers could not be read, but scrolled.
const SHRUNK_UP_TO: f64 = 1400.0;

/// The picture as an SVG element that needs no font, script or style from elsewhere.
pub fn element(machine: &Machine, heat: Option<&Heat>) -> Html {
    let outline = Outline::of(machine);
    let scene = layout::layout(&outline, heat);
    let title = format!("Machine: {}", outline.headline);
    draw::svg(&scene, &outline.faces, heat, &title, &words(&outline, heat))
}

/// The picture with what is written into its cells, in a frame that can be scrolled, for a page with the style sheets of a case's report.
/// `title` names it; where to find in words what the cells say is `words`.
pub fn noted(machine: &Machine, overlay: &Overlay, title: &str, words: &str) -> Html {
    let outline = Outline::of(machine);
    let scene = layout::layout_noted(&outline, overlay);
    let class = if scene.width > SHRUNK_UP_TO { "drawing whole" } else { "drawing" };
    let words = format!("{} {words}", self::words(&outline, None));
    let mut html = Html::new();
    html.scrolled("div", class, "group", title, |frame| {
        frame.add(&draw::noted(&scene, &outline.faces, overlay, title, &words));
    });
    html
}

/// The picture as an SVG file.
pub fn svg(machine: &Machine, heat: Option<&Heat>) -> String {
    element(machine, heat).into_string() + "\n"
}

/// The picture with the text sheet, the interrupt lines and what is not known, as one HTML file.
pub fn page(machine: &Machine, heat: Option<&Heat>) -> String {
    page::render(machine, heat)
}

/// The picture in words, for those who cannot see it.
fn words(outline: &Outline, heat: Option<&Heat>) -> String {
    let mut words = vec![outline.headline.clone()];
    let groups = outline.groups.iter().skip(1).flat_map(|group| &group.strips);
    let named = groups.filter(|strip| strip.kind <= outline::StripKind::Die);
    words.extend(named.map(|strip| format!("{} {}", strip.words(), strip.detail).trim().to_string()));
    let busiest = heat.and_then(|heat| {
        let cpu = heat.busiest()?;
        Some(format!("{}: most on CPU {cpu}, {}", heat.what, heat.words(cpu)?))
    });
    words.extend(busiest);
    words.join(". ") + "."
}
