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
mod page;

use machine::Machine;

use crate::Html;
pub use heat::Heat;
use outline::Outline;

/// The picture as an SVG element that needs no font, script or style from elsewhere.
pub fn element(machine: &Machine, heat: Option<&Heat>) -> Html {
    let outline = Outline::of(machine);
    let scene = layout::layout(&outline, heat);
    let title = format!("Machine: {}", outline.headline);
    draw::svg(&scene, &outline.faces, heat, &title, &words(&outline, heat))
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
