//! Reads a choice, with positions in what is wrong.

use super::{Apart, Choice, End, Factor, Range, Stride, Term, Which, Word};
use crate::cpu_groups::GroupKind;
use crate::cpuset::HIGHEST;

/// Longest text that is read, bytes.
pub(super) const LONGEST: usize = 64 << 10;

/// Most parentheses that are open at once: what goes down into them needs stack for each.
pub(super) const DEEPEST: usize = 16;

/// Most CPUs that the lists of one text name together: overlapping ranges are no reason to fill memory.
const MOST_LISTED: u32 = 4 * HIGHEST;

/// Most words and parentheses of one text: for each the groups of the machine are worked out.
const MOST_WORDS: usize = 256;

/// Longest name of a kind of core, bytes.
const LONGEST_NAME: usize = 32;

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cpu_choice) struct Wrong {
    /// Bytes from the start of the text.
    pub(in crate::cpu_choice) at: usize,
    pub(in crate::cpu_choice) why: String,
}

/// A part of the text, and where it begins.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    at: usize,
    text: &'a str,
}

impl<'a> Piece<'a> {
    fn trimmed(self) -> Self {
        let start = self.text.trim_start();
        Self { at: self.at + (self.text.len() - start.len()), text: start.trim_end() }
    }

    /// The part from one byte to another.
    fn part(self, from: usize, to: usize) -> Self {
        Piece { at: self.at + from, text: self.text.get(from..to).unwrap_or_default() }.trimmed()
    }

    /// The parts between the separators that stand in no parentheses.
    fn split(self, separator: u8) -> Vec<Self> {
        let (mut pieces, mut from, mut depth) = (Vec::new(), 0, 0_usize);
        for (at, byte) in self.text.bytes().enumerate() {
            depth = depth_after(byte, depth);
            if byte == separator && depth == 0 {
                pieces.push(self.part(from, at));
                from = at + 1;
            }
        }
        pieces.push(self.part(from, self.text.len()));
        pieces
    }

    /// Where the parenthesis closes with which it begins.
    fn closes_at(self) -> Option<usize> {
        let mut depth = 0;
        self.text.bytes().position(|byte| {
            depth = depth_after(byte, depth);
            depth == 0
        })
    }

    fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let (before, after) = self.text.split_once(separator)?;
        let at = self.at + before.len() + separator.len_utf8();
        Some((Piece { at: self.at, text: before }.trimmed(), Piece { at, text: after }.trimmed()))
    }

    fn wrong(self, why: impl Into<String>) -> Wrong {
        Wrong { at: self.at, why: why.into() }
    }
}

/// How many parentheses are open after a byte.
fn depth_after(byte: u8, depth: usize) -> usize {
    match byte {
        b'(' => depth + 1,
        b')' => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Reads a choice.
pub(in crate::cpu_choice) fn parse(text: &str) -> Result<Choice, Wrong> {
    let whole = Piece { at: 0, text };
    if text.len() > LONGEST {
        return Err(whole.wrong(format!("it has {} bytes, and {LONGEST} at most are read", text.len())));
    }
    balanced(text)?;
    let choice = choice(whole, "it names no CPU")?;
    let size = Size::of(&choice);
    if size.words > MOST_WORDS {
        return Err(whole.wrong(format!("it has more than {MOST_WORDS} words")));
    }
    if size.listed > MOST_LISTED {
        return Err(whole.wrong("its ranges overlap too often"));
    }
    Ok(choice)
}

/// Refuses a parenthesis without its partner, and too many that are open at once; all that is read afterwards relies on it.
fn balanced(text: &str) -> Result<(), Wrong> {
    let wrong = |at: usize, why: String| Wrong { at, why };
    let mut open = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' if open.len() == DEEPEST => {
                return Err(wrong(at, format!("more than {DEEPEST} parentheses are open here")));
            }
            b'(' => open.push(at),
            b')' => {
                open.pop().ok_or_else(|| wrong(at, "this parenthesis closes none".into()))?;
            }
            _ => {}
        }
    }
    match open.pop() {
        Some(at) => Err(wrong(at, "this parenthesis is not closed".into())),
        None => Ok(()),
    }
}

/// What working a choice out takes.
#[derive(Debug, Default)]
struct Size {
    words: usize,
    /// CPUs that its ranges name.
    listed: u32,
}

impl Size {
    fn of(choice: &Choice) -> Self {
        let mut size = Self::default();
        for Factor { word, .. } in choice.0.iter().flat_map(|term| &term.0) {
            match word {
                Word::Listed(range) => size.listed = size.listed.saturating_add(length(range)),
                Word::Parenthesised(choice) => {
                    let within = Self::of(choice);
                    size.words += 1 + within.words;
                    size.listed = size.listed.saturating_add(within.listed);
                }
                _ => size.words += 1,
            }
        }
        size
    }
}

/// How many numbers lie between the ends of a range; none where an end depends on the machine.
fn length(range: &Range) -> u32 {
    let ends = range.from.number().zip(range.to.number());
    ends.map_or(0, |(from, to)| to.saturating_sub(from).saturating_add(1))
}

/// The terms between commas; `nothing`: what is wrong where there are none.
fn choice(piece: Piece<'_>, nothing: &str) -> Result<Choice, Wrong> {
    // Commas with nothing between them are the kernel's own habit (lib/bitmap-str.c).
    let pieces = piece.split(b',').into_iter().filter(|piece| !piece.text.is_empty());
    let terms = pieces.map(term).collect::<Result<Vec<Term>, Wrong>>()?;
    match terms.is_empty() {
        true => Err(piece.wrong(nothing)),
        false => Ok(Choice(terms)),
    }
}

fn term(piece: Piece<'_>) -> Result<Term, Wrong> {
    piece.split(b'&').into_iter().map(factor).collect::<Result<Vec<Factor>, Wrong>>().map(Term)
}

fn factor(piece: Piece<'_>) -> Result<Factor, Wrong> {
    let (negated, rest) = match piece.text.strip_prefix('!') {
        Some(rest) => (true, Piece { at: piece.at + 1, text: rest }.trimmed()),
        None => (false, piece),
    };
    let word = match rest.text.as_bytes().first() {
        None => return Err(rest.wrong("a word is missing here")),
        Some(b'(') => parenthesised(rest)?,
        Some(_) => word(rest)?,
    };
    Ok(Factor { negated, word })
}

/// A choice in parentheses, behind which nothing may stand.
fn parenthesised(piece: Piece<'_>) -> Result<Word, Wrong> {
    let Some(end) = piece.closes_at() else { return Err(piece.wrong("this parenthesis is not closed")) };
    let behind = piece.part(end + 1, piece.text.len());
    if !behind.text.is_empty() {
        return Err(behind.wrong("a comma or & is missing here"));
    }
    choice(piece.part(1, end), "nothing stands in these parentheses").map(Word::Parenthesised)
}

fn word(piece: Piece<'_>) -> Result<Word, Wrong> {
    let is_last = piece.text.strip_prefix('N').is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    if is_last || piece.text.starts_with(|first: char| first.is_ascii_digit()) {
        return range(piece).map(Word::Listed);
    }
    let (name, which) = match piece.split_once(':') {
        Some((name, which)) => (name, Some(which)),
        None => (piece, None),
    };
    match (name.text, which) {
        ("all", None) => return Ok(Word::All),
        ("siblings", None) => return Ok(Word::Siblings),
        ("isolated", which) => return Ok(Word::Apart(Apart::Isolated, which.map(range).transpose()?)),
        ("nohz_full", which) => return Ok(Word::Apart(Apart::NohzFull, which.map(range).transpose()?)),
        _ => {}
    }
    let Some(kind) = GroupKind::of_word(name.text) else {
        return Err(name.wrong(format!("'{}' is neither a number nor a word for CPUs", name.text)));
    };
    let Some(which) = which.filter(|which| !which.text.is_empty()) else {
        return Err(name.wrong(format!("which {kind}? Write {kind}:0, or a range of numbers")));
    };
    let is_name = kind == GroupKind::Kind && which.text.starts_with(|first: char| first.is_ascii_lowercase());
    let which = if is_name { Which::Named(kind_name(which)?) } else { Which::Numbered(range(which)?) };
    Ok(Word::Groups(kind, which))
}

fn kind_name(piece: Piece<'_>) -> Result<String, Wrong> {
    let is_plain = piece.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match is_plain && piece.text.len() <= LONGEST_NAME {
        true => Ok(piece.text.to_string()),
        false => {
            Err(piece.wrong("it is not a name of a kind of core: these have letters, digits, _ and - only"))
        }
    }
}

fn range(piece: Piece<'_>) -> Result<Range, Wrong> {
    let (ends, stride) = match piece.split_once(':') {
        Some((ends, stride)) => (ends, Some(read_stride(stride)?)),
        None => (piece, None),
    };
    let (from, to) = match ends.split_once('-') {
        Some((from, to)) => (end(from)?, end(to)?),
        None => (end(ends)?, end(ends)?),
    };
    match (from, to) {
        (End::Number(low), End::Number(high)) if low > high => {
            Err(ends.wrong(format!("range {low}-{high} runs backwards")))
        }
        (End::Last, End::Number(high)) => Err(ends.wrong(format!("range N-{high} runs backwards"))),
        _ => Ok(Range { from, to, stride }),
    }
}

fn read_stride(piece: Piece<'_>) -> Result<Stride, Wrong> {
    let Some((used, group)) = piece.split_once('/') else {
        return Err(piece.wrong(format!("stride '{}' is not USED/GROUP", piece.text)));
    };
    let (used, group) = (number(used)?, number(group)?);
    match used > 0 && used <= group {
        true => Ok(Stride { used, group }),
        false => Err(piece.wrong(format!("stride '{}' must have 0 < USED <= GROUP", piece.text))),
    }
}

fn end(piece: Piece<'_>) -> Result<End, Wrong> {
    match piece.text {
        "N" => Ok(End::Last),
        _ => number(piece).map(End::Number),
    }
}

fn number(piece: Piece<'_>) -> Result<u32, Wrong> {
    let text = piece.text;
    if text.is_empty() {
        return Err(piece.wrong("a number is missing here"));
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(piece.wrong(format!("'{text}' is not a number")));
    }
    let number = text.parse::<u32>().ok().filter(|number| *number < HIGHEST);
    number.ok_or_else(|| piece.wrong(format!("{text} is past {HIGHEST}")))
}
