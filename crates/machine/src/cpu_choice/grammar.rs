//! How a choice of CPUs is written: words between `&` and commas, with positions in what is wrong. Pure; knows no machine.

use std::fmt;

use crate::CpuSet;
use crate::cpu_groups::GroupKind;
use crate::cpuset::HIGHEST;

/// Longest text that is read, bytes.
const LONGEST: usize = 64 << 10;

/// Most CPUs that the lists of one text name together: overlapping ranges are no reason to fill memory.
const MOST_LISTED: u32 = 4 * HIGHEST;

/// Most words of one text: for each the groups of the machine are worked out.
const MOST_WORDS: usize = 256;

/// Longest name of a kind of core, bytes.
const LONGEST_NAME: usize = 32;

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Number(u32),
    /// `N`, the last one that there can be.
    Last,
}

impl End {
    fn number(self) -> Option<u32> {
        match self {
            Self::Number(number) => Some(number),
            Self::Last => None,
        }
    }
}

/// The first `used` of every `group`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stride {
    pub(super) used: u32,
    pub(super) group: u32,
}

/// `0-15:1/2`: numbers as the kernel's lists have them; both ends are the same where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: End,
    pub(super) to: End,
    pub(super) stride: Option<Stride>,
}

impl Range {
    /// Whether it goes up to the last, whichever that is.
    pub(super) fn is_open(&self) -> bool {
        self.to == End::Last && self.from != End::Last
    }

    /// The ends in numbers where the last is `last`; `None` when it then runs backwards.
    pub(super) fn ends(&self, last: u32) -> Option<(u32, u32)> {
        let (from, to) = (self.from.number().unwrap_or(last), self.to.number().unwrap_or(last));
        (from <= to).then_some((from, to))
    }

    /// Whether a number between the ends is one of those that the stride takes.
    pub(super) fn takes(&self, from: u32, number: u32) -> bool {
        self.stride.is_none_or(|stride| number.saturating_sub(from) % stride.group < stride.used)
    }
}

/// CPUs that the kernel keeps apart: since boot, or by a cpuset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Apart {
    Isolated,
    NohzFull,
}

impl Apart {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::NohzFull => "nohz_full",
        }
    }
}

/// Which groups of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    Numbered(Range),
    Named(String),
}

/// What CPUs are named by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    All,
    Siblings,
    Listed(Range),
    Apart(Apart, Option<Range>),
    Groups(GroupKind, Which),
}

/// A word, or with `!` all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Factor {
    pub(super) negated: bool,
    pub(super) word: Word,
}

/// What stands between two commas: the CPUs that all of its factors have in common. At least one factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term(pub(super) Vec<Factor>);

impl Term {
    /// The word that it takes away: a `!` that stands alone.
    pub(super) fn taken_away(&self) -> Option<&Word> {
        match self.0.as_slice() {
            [Factor { negated: true, word }] => Some(word),
            _ => None,
        }
    }

    /// The range of CPUs that it is, if it is nothing else.
    fn listed(&self) -> Option<&Range> {
        match self.0.as_slice() {
            [Factor { negated: false, word: Word::Listed(range) }] => Some(range),
            _ => None,
        }
    }
}

/// A whole choice: terms in the order in which they add and take away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice(pub(super) Vec<Term>);

impl Choice {
    /// The choice of these numbers.
    pub(super) fn of(cpus: &CpuSet) -> Self {
        let term = |(from, to)| {
            let range = Range { from: End::Number(from), to: End::Number(to), stride: None };
            Term(vec![Factor { negated: false, word: Word::Listed(range) }])
        };
        Self(cpus.runs().map(term).collect())
    }

    /// The CPUs where all of them are named by number.
    pub(super) fn numbers(&self) -> Option<CpuSet> {
        let mut set = CpuSet::new();
        for term in &self.0 {
            let range = term.listed()?;
            let (from, to) = (range.from.number()?, range.to.number()?);
            set.extend((from..=to).filter(|number| range.takes(from, *number)));
        }
        Some(set)
    }
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Bytes from the start of the text.
    pub(super) at: usize,
    pub(super) why: String,
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

    fn split(self, separator: char) -> impl Iterator<Item = Piece<'a>> {
        let mut at = self.at;
        self.text.split(separator).map(move |text| {
            let piece = Piece { at, text };
            at += text.len() + separator.len_utf8();
            piece.trimmed()
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

/// Reads a choice.
pub(super) fn parse(text: &str) -> Result<Choice, Wrong> {
    let whole = Piece { at: 0, text };
    if text.len() > LONGEST {
        return Err(whole.wrong(format!("it has {} bytes, and {LONGEST} at most are read", text.len())));
    }
    // Commas with nothing between them are the kernel's own habit (lib/bitmap-str.c).
    let pieces = whole.split(',').filter(|piece| !piece.text.is_empty());
    let terms = pieces.map(term).collect::<Result<Vec<Term>, Wrong>>()?;
    if terms.is_empty() {
        return Err(whole.wrong("it names no CPU"));
    }
    let is_word = |factor: &&Factor| !matches!(factor.word, Word::Listed(_));
    if terms.iter().flat_map(|term| &term.0).filter(is_word).count() > MOST_WORDS {
        return Err(whole.wrong(format!("it has more than {MOST_WORDS} words")));
    }
    let length = |term: &Term| {
        let (from, to) = term.listed().and_then(|range| range.from.number().zip(range.to.number()))?;
        Some(to.saturating_sub(from).saturating_add(1))
    };
    let listed = terms.iter().filter_map(length).fold(0, u32::saturating_add);
    if listed > MOST_LISTED {
        return Err(whole.wrong("its ranges overlap too often"));
    }
    Ok(Choice(terms))
}

fn term(piece: Piece<'_>) -> Result<Term, Wrong> {
    piece.split('&').map(factor).collect::<Result<Vec<Factor>, Wrong>>().map(Term)
}

fn factor(piece: Piece<'_>) -> Result<Factor, Wrong> {
    let (negated, rest) = match piece.text.strip_prefix('!') {
        Some(rest) => (true, Piece { at: piece.at + 1, text: rest }.trimmed()),
        None => (false, piece),
    };
    match rest.text.is_empty() {
        true => Err(rest.wrong("a word is missing here")),
        false => Ok(Factor { negated, word: word(rest)? }),
    }
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
        false => Err(piece.wrong("it is no name of a kind of core: such have letters, digits, _ and - only")),
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
        return Err(piece.wrong(format!("'{text}' is no number")));
    }
    let number = text.parse::<u32>().ok().filter(|number| *number < HIGHEST);
    number.ok_or_else(|| piece.wrong(format!("{text} is past {HIGHEST}")))
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Last => f.write_str("N"),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from == self.to {
            true => write!(f, "{}", self.from)?,
            false => write!(f, "{}-{}", self.from, self.to)?,
        }
        self.stride.map_or(Ok(()), |stride| write!(f, ":{}/{}", stride.used, stride.group))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Siblings => f.write_str("siblings"),
            Self::Listed(range) => write!(f, "{range}"),
            Self::Apart(apart, None) => f.write_str(apart.word()),
            Self::Apart(apart, Some(range)) => write!(f, "{}:{range}", apart.word()),
            Self::Groups(kind, Which::Numbered(range)) => write!(f, "{kind}:{range}"),
            Self::Groups(kind, Which::Named(name)) => write!(f, "{kind}:{name}"),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "," })?;
            for (at, factor) in term.0.iter().enumerate() {
                f.write_str(if at == 0 { "" } else { " & " })?;
                write!(f, "{}{}", if factor.negated { "!" } else { "" }, factor.word)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
