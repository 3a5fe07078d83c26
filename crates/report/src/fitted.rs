//! Text fitted to a terminal. Lines that are too long go on below with an indent: a table is broken between columns, at the same ones in
//! all of its rows, and what is wider than a line between words. No word is broken, except a long list, which is broken after a comma.

use unicode_width::UnicodeWidthChar;

use crate::display_width::width;

/// A narrower terminal is treated as one of so many columns: a table would have one word a line there.
const NARROWEST: usize = 20;

/// Lines that continue the one above are indented by so much more.
const HANG: usize = 4;

/// A line of at least so many cells, with two blanks between them, is a row of a table.
const ROW_CELLS: usize = 3;

/// The text with no line longer than `columns`, unless a word is. It must have no colours.
pub fn fitted(text: &str, columns: usize) -> String {
    let columns = columns.max(NARROWEST);
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    // A table is indented below its title, or stands alone.
    for block in lines.chunk_by(|a, b| kind(a) == kind(b)) {
        fit(block, columns, &mut out);
    }
    out
}

/// Whether a line is empty, and whether it is indented.
fn kind(line: &str) -> (bool, bool) {
    (line.is_empty(), line.starts_with(' '))
}

fn fit(block: &[&str], columns: usize, out: &mut String) {
    let rows: Vec<&str> = block.iter().copied().filter(|line| is_row(line)).collect();
    let parts = parts(&cells(&rows), columns);
    for line in block {
        match is_row(line) && !parts.is_empty() {
            true => row(line, &parts, columns, out),
            false => {
                let words = line.trim_start_matches(' ');
                let indent = line.len() - words.len();
                broken(words, indent, indent + HANG, columns, out);
            }
        }
    }
}

fn is_row(line: &str) -> bool {
    line.split("  ").filter(|cell| !cell.trim().is_empty()).count() >= ROW_CELLS
}

/// Where the columns of a table begin and end: at least two blanks in every row keep them apart.
fn cells(rows: &[&str]) -> Vec<(usize, usize)> {
    let mut used: Vec<bool> = Vec::new();
    for row in rows {
        let mut at = 0;
        for character in row.chars() {
            let end = at + character.width().unwrap_or(0);
            if used.len() < end {
                used.resize(end, false);
            }
            if character != ' ' {
                used[at..end].fill(true);
            }
            at = end;
        }
    }
    let mut cells: Vec<(usize, usize)> = Vec::new();
    for (at, _) in used.iter().enumerate().filter(|(_, is_used)| **is_used) {
        match cells.last_mut() {
            Some((_, end)) if at < *end + 2 => *end = at + 1,
            _ => cells.push((at, at + 1)),
        }
    }
    cells
}

/// Columns of a table that stand on one line.
struct Part {
    /// The first column of characters that it has in an unbroken row, and the one behind its last.
    from: usize,
    to: usize,
    /// Where it begins in a broken one.
    at: usize,
}

fn parts(cells: &[(usize, usize)], columns: usize) -> Vec<Part> {
    let hang = (cells.first().map_or(0, |(start, _)| *start) + HANG).min(columns / 2);
    let mut parts: Vec<Part> = Vec::new();
    for &(start, end) in cells {
        match parts.last_mut() {
            Some(part) if part.at + (end - part.from) <= columns => part.to = end,
            _ => {
                let at = if parts.is_empty() { start } else { hang };
                parts.push(Part { from: start, to: end, at });
            }
        }
    }
    parts
}

/// A row: a line for each part that is not empty in it.
fn row(line: &str, parts: &[Part], columns: usize, out: &mut String) {
    for (number, part) in parts.iter().enumerate() {
        let (start, at) = if number == 0 { (0, 0) } else { (byte_at(line, part.from), part.at) };
        let end = parts.get(number + 1).map_or(line.len(), |next| byte_at(line, next.from));
        let cells = line[start..end].trim_end_matches(' ');
        let words = cells.trim_start_matches(' ');
        if words.is_empty() {
            continue;
        }
        let at = at + (cells.len() - words.len());
        let fits = at + width(words) <= columns;
        let at = if fits { at } else { part.at.min(columns / 2) };
        broken(words, at, part.at.max(HANG), columns, out);
    }
}

/// Where the character at a column begins.
fn byte_at(line: &str, column: usize) -> usize {
    let mut at = 0;
    for (byte, character) in line.char_indices() {
        if at >= column {
            return byte;
        }
        at += character.width().unwrap_or(0);
    }
    line.len()
}

/// Words that begin at column `at`, broken before the last column; further lines begin at `hang`.
fn broken(words: &str, at: usize, hang: usize, columns: usize, out: &mut String) {
    let hang = hang.min(columns / 2);
    out.extend(std::iter::repeat_n(' ', if words.is_empty() { 0 } else { at }));
    let (mut column, mut is_first) = (at, true);
    let mut rest = words;
    while let Some(start) = rest.find(|character: char| character != ' ') {
        let mut gap = start;
        let word_on = &rest[start..];
        let (word, after) = word_on.split_at(word_on.find(' ').unwrap_or(word_on.len()));
        for piece in pieces(word, columns - hang) {
            let length = width(piece);
            if !is_first && column + gap + length > columns {
                out.push('\n');
                (gap, column) = (hang, 0);
            }
            out.extend(std::iter::repeat_n(' ', gap));
            out.push_str(piece);
            column += gap + length;
            (gap, is_first) = (0, false);
        }
        rest = after;
    }
    out.push('\n');
}

/// A word, or the members of a list that is too long for a line.
fn pieces(word: &str, room: usize) -> Vec<&str> {
    if width(word) <= room { vec![word] } else { word.split_inclusive(',').collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        let text = "Title\n  a    100  x\n  bcd    1\n\nFurther words.\n";
        assert_eq!(fitted(text, 80), text);
        assert_eq!((fitted("", 80), fitted("\n\n", 80)), (String::new(), "\n\n".into()));
    }

    #[test]
    fn prose_goes_on_below_with_an_indent_and_long_lists_after_a_comma() {
        let text = format!("  why: {}\n{}\n", "word ".repeat(12).trim_end(), "0-1,".repeat(20));
        let lines: Vec<String> = fitted(&text, 40).lines().map(String::from).collect();
        assert_eq!(lines[0], "  why: word word word word word word");
        assert_eq!(lines[1], "      word word word word word word");
        assert!(
            lines[2].ends_with("0-1,") && lines[2].len() <= 40 && lines[3].starts_with("    0-1,"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_table_is_broken_at_the_same_columns_in_all_rows() {
        let text = "\
Threads
  THREADS  NAME           MAY RUN ON           CPU TIME  WAITED
       12  worker         one CPU each, 0-3        12 s   30 ms
        1  io             CPU 0                     1 s
        7  数据库         CPUs 1-2                  2 s       -
  and 3 more kinds of threads
";
        let fitted = fitted(text, 44);
        let lines: Vec<&str> = fitted.lines().collect();
        assert_eq!(lines[..2], ["Threads", "  THREADS  NAME           MAY RUN ON"], "{fitted}");
        assert_eq!(lines[2], "      CPU TIME  WAITED");
        assert_eq!(lines[3..5], ["       12  worker         one CPU each, 0-3", "          12 s   30 ms"]);
        assert_eq!(lines[5..7], ["        1  io             CPU 0", "           1 s"]);
        assert_eq!(lines[7..9], ["        7  数据库         CPUs 1-2", "           2 s       -"]);
        assert_eq!(lines[9..], ["  and 3 more kinds of threads"]);
    }

    #[test]
    fn a_column_that_is_too_wide_is_broken_between_words_below_its_row() {
        let text = format!("  IRQ  NAME  WHAT\n   38  eth0  {}\n", "word ".repeat(12).trim_end());
        let fitted = fitted(&text, 40);
        let lines: Vec<&str> = fitted.lines().collect();
        assert_eq!(lines[..3], ["  IRQ  NAME", "      WHAT", "   38  eth0"]);
        assert_eq!(
            lines[3..],
            ["      word word word word word word word", "      word word word word word"]
        );
    }

    proptest::proptest! {
        #[test]
        fn no_word_is_lost_and_no_line_too_long(
            lines in proptest::collection::vec("( {0,6}[a-z0-9,数e\u{301}]{1,12}){0,30}", 0..12),
            columns in 0usize..120,
        ) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let fitted = fitted(&text, columns);
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            proptest::prop_assert_eq!(bare(&fitted), bare(&text));
            for line in fitted.lines() {
                let is_one_word = line.split_whitespace().count() <= 1;
                proptest::prop_assert!(width(line) <= columns.max(NARROWEST) || is_one_word, "{:?}", line);
            }
        }
    }
}
