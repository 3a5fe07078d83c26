//! How wide text will be, without a font at hand.

/// Widths of the printable ASCII characters from the space on, in thousandths of the type size: the advance widths
/// that Arial, Helvetica and Liberation Sans have in common (the style sheet asks for these).
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Other Latin letters and signs; what lies above U+2E80 is taken to be as wide as it is high.
const OTHER: u16 = 600;

/// Room for the fonts that a viewer takes instead, and for its hinting.
const ALLOWANCE: f64 = 1.04;

/// Fonts that viewers take where those of the style sheet are missing (DejaVu Sans, Verdana) are up to a fifth wider ...
const WIDER: f64 = 1.2;

/// ... and a letter of theirs takes no more of the type size than this, on average of some words.
const LETTER: f64 = 0.65;

/// What fits exactly must not be cut because sums of widths are rounded.
pub const ROUNDING: f64 = 1e-6;

/// Bold letters are wider.
const BOLD: f64 = 1.08;

/// The width of `text` in type of `size`, user units.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    let thousandths: f64 = text.chars().map(|c| f64::from(of(c))).sum();
    thousandths / 1000.0 * size * ALLOWANCE * if bold { BOLD } else { 1.0 }
}

/// The room that `text` needs in type of `size` whatever font the viewer takes, where nothing may follow too close.
pub fn room(text: &str, size: f64) -> f64 {
    let letters = text.chars().count() as f64 * LETTER * size;
    (width(text, size, false) * WIDER).max(letters)
}

fn of(c: char) -> u16 {
    match c {
        ' '..='~' => WIDTHS[c as usize - ' ' as usize],
        c if c >= '\u{2e80}' => 1000,
        _ => OTHER,
    }
}

/// `text` cut so that it is no wider than `room`, with `...` where something is left out.
pub fn cut(text: &str, size: f64, bold: bool, room: f64) -> String {
    if width(text, size, bold) <= room + ROUNDING {
        return text.to_string();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept, size, bold) + width("...", size, bold) > room {
            kept.pop();
            break;
        }
    }
    let kept = kept.trim_end();
    if kept.is_empty() { String::new() } else { format!("{kept}...") }
}

/// `text` broken at blanks into lines no wider than `room`; a word that is wider is cut.
pub fn lines(text: &str, size: f64, bold: bool, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = cut(word, size, bold, room);
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size, bold) <= room + ROUNDING => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_are_wider_and_sizes_scale() {
        assert!(width("WWW", 10.0, false) > 3.0 * width("iii", 10.0, false));
        assert!((width("1023", 10.0, false) - 4.0 * 5.56 * ALLOWANCE).abs() < 1e-9);
        assert!(width("a", 20.0, true) > 2.0 * width("a", 10.0, false));
        assert_eq!(width("", 10.0, false), 0.0);
        assert!(room("iii", 10.0) >= 19.5 && room("WWW", 10.0) >= 1.2 * width("WWW", 10.0, false));
    }

    #[test]
    fn text_is_cut_and_broken_to_the_room() {
        assert_eq!(cut("eth0", 10.0, false, 100.0), "eth0");
        assert_eq!(cut("eth0", 10.0, false, 1.0), "");
        assert_eq!(lines("one two three", 10.0, false, 40.0), ["one two", "three"]);
        assert_eq!(lines("", 10.0, false, 40.0), Vec::<String>::new());
    }

    proptest::proptest! {
        #[test]
        fn nothing_comes_out_wider_than_the_room(text in ".{0,60}", room in 0.0f64..300.0) {
            proptest::prop_assert!(width(&cut(&text, 11.0, false, room), 11.0, false) <= room + ROUNDING);
            for line in lines(&text, 11.0, true, room) {
                proptest::prop_assert!(width(&line, 11.0, true) <= room + ROUNDING);
            }
        }
    }
}
