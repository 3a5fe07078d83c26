//! Times by stack as a flame graph: one SVG file that needs nothing else.
//!
//! The outermost frames lie at the bottom, and each is as wide as its time. A script of its own zooms and searches; without scripts it is
//! a drawing with titles that show when the pointer rests on them.

mod colour;
mod layout;

use std::collections::BTreeMap;

use probe::stacks::TimeByStack;

use self::layout::{Frame, Placed};
use super::folded::{self, OF_KERNEL};
use crate::display_width::cut;
use crate::markup::{Attributes, Html};
use crate::number;
use crate::svg::{self, Area, coordinate};
use crate::visible::one_line;

/// Rules without variables, so that converters which know none draw it too.
const STYLE: &str = include_str!("flamegraph/style.css");

/// Zooms on a click, and searches. XML is to take it as it is.
const SCRIPT: &str = concat!("<![CDATA[\n", include_str!("flamegraph/zoom.js"), "]]>");

/// Width of the drawing, pixels.
const WIDTH: f64 = 1_200.0;

/// Left and right of the frames, pixels.
const MARGIN: f64 = 10.0;

/// Above the frames, for the headings, pixels.
const ABOVE: f64 = 78.0;

/// Below the frames, for what the pointer rests on, pixels.
const BELOW: f64 = 30.0;

/// From a frame to the one above it, pixels; one of them is free.
const ROW: f64 = 17.0;

/// Width of a character of a label, pixels; the script has the same.
const COLUMN: f64 = 7.2;

/// Left and right of a label, pixels.
const PADDING: f64 = 3.0;

/// Shorter labels help nobody, characters.
const SHORTEST: usize = 3;

/// Characters of a heading.
const LONGEST_HEADING: usize = 100;

/// Draws what was seen, under a heading and a line on how it was seen.
pub fn render(seen: &TimeByStack, heading: &str, words: &str) -> String {
    draw(&folded::stacks(seen), heading, words)
}

fn draw(stacks: &BTreeMap<String, u64>, heading: &str, words: &str) -> String {
    let all = Frame::of(stacks.iter().map(|(stack, ns)| (stack.as_str(), *ns)));
    let placed = all.places("all", WIDTH - 2.0 * MARGIN);
    let deepest = placed.iter().map(|frame| frame.depth).max().unwrap_or(0);
    let height = ABOVE + ROW * (deepest + 1) as f64 + BELOW;
    let (wide, high) = (coordinate(WIDTH), coordinate(height));
    let view_box = format!("0 0 {wide} {high}");
    let attributes: Attributes = &[
        ("xmlns", &"http://www.w3.org/2000/svg"),
        ("class", &"flamegraph"),
        ("viewBox", &view_box),
        ("width", &wide),
        ("height", &high),
    ];
    let mut html = Html::new();
    html.within("svg", attributes, |svg| {
        svg.element("title", &[], heading);
        svg.within("style", &[], |style| {
            style.literal(STYLE);
        });
        svg::rectangle(svg, "paper", Area { left: 0.0, top: 0.0, width: WIDTH, height }, "");
        headings(svg, heading, words, placed.is_empty());
        svg.literal("\n");
        for frame in &placed {
            draw_frame(svg, frame, ABOVE + ROW * (deepest - frame.depth) as f64, all.ns());
        }
        controls(svg, height);
        svg.within("script", &[], |script| {
            script.literal(SCRIPT);
        });
    });
    html.literal("\n");
    html.into_string()
}

fn headings(svg: &mut Html, heading: &str, words: &str, is_empty: bool) {
    svg::text(svg, "title", (MARGIN, 24.0), "start", &cut(&one_line(heading), LONGEST_HEADING, ".."));
    let words = if is_empty { "nothing was seen" } else { words };
    svg::text(svg, "words", (MARGIN, 44.0), "start", words);
    let mut x = MARGIN;
    for (doing, words) in colour::LEGEND {
        let fill = colour::of_state(doing);
        let [left, top] = [x, 54.0].map(coordinate);
        let attributes: Attributes =
            &[("x", &left), ("y", &top), ("width", &"12"), ("height", &"12"), ("fill", &fill)];
        svg.empty("rect", attributes);
        svg::text(svg, "legend", (x + 17.0, 64.0), "start", words);
        x += 17.0 + COLUMN * (words.len() + 3) as f64;
    }
    svg::text(svg, "legend", (x, 64.0), "start", "darker: in the kernel");
}

/// What the script fills, and what calls it: that is hidden where scripts do not run.
fn controls(svg: &mut Html, height: f64) {
    let button = |svg: &mut Html, id: &'static str, x: f64, words: &str| {
        let (x, y) = (coordinate(x), coordinate(24.0));
        let attributes: Attributes = &[
            ("id", &id),
            ("class", &"button"),
            ("x", &x),
            ("y", &y),
            ("text-anchor", &"end"),
            ("style", &"display:none"),
        ];
        svg.element("text", attributes, words);
    };
    button(svg, "reset", WIDTH - MARGIN - 70.0, "reset zoom");
    button(svg, "find", WIDTH - MARGIN, "search");
    let y = coordinate(height - 10.0);
    let (left, right) = (coordinate(MARGIN), coordinate(WIDTH - MARGIN));
    svg.element("text", &[("id", &"pointed"), ("x", &left), ("y", &y)], "");
    svg.element("text", &[("id", &"found"), ("x", &right), ("y", &y), ("text-anchor", &"end")], "");
}

/// A frame, on a line of the file. The script takes its name from the title, and expects a label in each.
fn draw_frame(svg: &mut Html, frame: &Placed<'_>, top: f64, all_ns: u128) {
    let share = frame.ns as f64 / all_ns as f64;
    let length = number::grouped(frame.ns as f64 / 1e6, 3);
    let title = format!("{}: {length} ms, {:.2} %", frame.name, share * 100.0);
    let fill = colour::of_frame(frame.name, frame.state, frame.name.ends_with(OF_KERNEL));
    let left = MARGIN + frame.x;
    let [x, width, label_x] = [left, frame.width, left + PADDING].map(exact);
    let [y, height, label_y] = [top, ROW - 1.0, top + 12.0].map(coordinate);
    svg.within("g", &[("class", &"f")], |g| {
        g.element("title", &[], title);
        let attributes: Attributes =
            &[("x", &x), ("y", &y), ("width", &width), ("height", &height), ("fill", &fill)];
        g.empty("rect", attributes);
        g.element("text", &[("x", &label_x), ("y", &label_y)], label(frame));
    });
    svg.literal("\n");
}

/// As much of the name as fits.
fn label(frame: &Placed<'_>) -> String {
    let room = ((frame.width - 2.0 * PADDING) / COLUMN).max(0.0) as usize;
    if room < SHORTEST { String::new() } else { cut(&one_line(frame.name), room, "..") }
}

/// A coordinate that can be zoomed: with three digits after the point at most.
fn exact(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use machine::untrusted::text::is_hidden;

    use super::*;

    fn drawn(stacks: &[(&str, u64)]) -> String {
        let stacks = stacks.iter().map(|(stack, ns)| ((*stack).to_string(), *ns)).collect();
        draw(&stacks, "process 7", "1 s")
    }

    #[test]
    fn a_small_tree_is_drawn_so() {
        let svg = drawn(&[("w;asleep;main;nap_[k]", 25_000_000), ("w;on a CPU;main", 75_000_000)]);
        let frames: Vec<&str> = svg.lines().filter(|line| line.starts_with("<g ")).collect();
        let frame = |title: &str, x: &str, y: u32, width: &str, fill: &str, label: (&str, &str)| {
            let (label_x, label) = label;
            let label_y = y + 12;
            format!(
                "<g class=\"f\"><title>{title}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"16\" \
                 fill=\"{fill}\"></rect><text x=\"{label_x}\" y=\"{label_y}\">{label}</text></g>"
            )
        };
        let quarter = "25.000 ms, 25.00 %";
        let most = "75.000 ms, 75.00 %";
        let expected = [
            frame("all: 100.000 ms, 100.00 %", "10", 146, "1180", "#dadad7", ("13", "all")),
            frame("w: 100.000 ms, 100.00 %", "10", 129, "1180", "#dfdfdb", ("13", "w")),
            frame(&format!("asleep: {quarter}"), "10", 112, "295", "#8cb9e5", ("13", "asleep")),
            frame(&format!("main: {quarter}"), "10", 95, "295", "#89b5e0", ("13", "main")),
            frame(&format!("nap_[k]: {quarter}"), "10", 78, "295", "#6e91b4", ("13", "nap_[k]")),
            frame(&format!("on a CPU: {most}"), "305", 112, "885", "#f2a05a", ("308", "on a CPU")),
            frame(&format!("main: {most}"), "305", 95, "885", "#e89956", ("308", "main")),
        ];
        assert_eq!(frames, expected);
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 1200 193\""), "{svg}");
    }

    #[test]
    fn labels_are_cut_to_their_frames_and_titles_are_whole() {
        let long = format!("w;on a CPU;{}", "parse_".repeat(40));
        let svg =
            drawn(&[(long.as_str(), 500), ("w;on a CPU;f", 1), ("w;on a CPU;parser", 30), ("x;asleep", 469)]);
        assert!(svg.contains(&format!("<title>{}: ", "parse_".repeat(40))), "{svg}");
        // 590 pixels have room for 81 characters, and 35.4 for 4.
        assert!(svg.contains(&format!(">{}p..</text>", "parse_".repeat(13))), "{svg}");
        assert!(svg.contains(">pa..</text>"), "{svg}");
    }

    #[test]
    fn names_leave_no_element_and_drive_nothing() {
        let evil = "]]></script><script>\"'&\u{1b}[2J\u{202e}\u{0}\u{ffff}\n";
        let svg = draw(&BTreeMap::from([(format!("w;on a CPU;{evil}"), 7)]), evil, evil);
        assert_eq!(svg.matches("<script>").count(), 1, "{svg}");
        assert_eq!(svg.matches("]]>").count(), 1, "{svg}");
        assert!(svg.contains("]]&gt;&lt;/script&gt;") && !svg.chars().any(is_hidden), "{svg}");
    }

    #[test]
    fn nothing_seen_is_still_a_drawing() {
        let svg = drawn(&[]);
        assert!(svg.contains("nothing was seen") && !svg.contains("<g "), "{svg}");
    }

    #[test]
    fn the_script_is_small_loads_nothing_and_finds_what_it_asks_for() {
        let svg = drawn(&[("w;asleep", 7)]);
        assert!(include_str!("flamegraph/zoom.js").len() <= 4_096);
        assert!(!SCRIPT.contains("http") && !SCRIPT.contains("eval"));
        for id in ["pointed", "found", "reset", "find"] {
            assert!(SCRIPT.contains(&format!("#{id}\"")) && svg.contains(&format!("id=\"{id}\"")), "{id}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_stacks_panic_or_leave_their_elements(
            stacks in proptest::collection::vec(("(?s).{0,30}", proptest::num::u64::ANY), 0..12),
        ) {
            let svg = draw(&stacks.into_iter().collect(), "process 7", "1 s");
            proptest::prop_assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
            proptest::prop_assert_eq!(svg.matches("<script>").count(), 1);
            proptest::prop_assert!(!svg.chars().any(is_hidden));
        }
    }
}
