//! In which form a file holds a value, and in which a plan does.

use super::super::{About, cpus};
use crate::{Class, CpuSet, Fault, Root};

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// That number.
    Is(i64),
    /// The number in the file of that name beside the knob's; where it cannot be read the kernel alone decides.
    Beside(&'static str),
}

/// How a file holds a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A whole number.
    Number {
        /// The least that it may be.
        least: Bound,
        /// The most that it may be.
        most: Bound,
        /// Words of plans with what stands for them in the file.
        words: &'static [(&'static str, &'static str)],
    },
    /// 0, or a power of two: the kernel rounds others up.
    PowerOfTwo {
        /// The most that it may be.
        most: i64,
    },
    /// A word of plans with what stands for it in the file.
    Codes(&'static [(&'static str, &'static str)]),
    /// A menu with the choice in brackets: `always [madvise] never`.
    Menu,
    /// One of the words in the file of that name beside it.
    Choice(&'static str),
    /// A CPU list.
    CpuList,
    /// A CPU mask.
    CpuMask {
        /// Whether it may be empty.
        may_be_empty: bool,
    },
}

/// A switch that is on as 1.
pub const ON_OFF: Form = Form::Codes(&[("off", "0"), ("on", "1")]);

/// What a value is meant for.
pub(super) struct Setting<'a> {
    pub(super) root: &'a Root,
    pub(super) about: &'a About,
    pub(super) target: &'a str,
    pub(super) path: &'a str,
    /// What the file holds now.
    pub(super) now: &'a str,
}

impl Form {
    /// The value, as plans write it, of a file that holds `text`. Errors: what is odd about the text.
    pub(super) fn read(self, text: &str) -> Result<String, String> {
        match self {
            Form::Number { words, .. } => match words.iter().find(|(_, held)| *held == text) {
                Some((word, _)) => Ok((*word).to_string()),
                None => number(text).map(|number| number.to_string()),
            },
            Form::PowerOfTwo { .. } => number(text).map(|number| number.to_string()),
            Form::Codes(codes) => match codes.iter().find(|(_, held)| *held == text) {
                Some((word, _)) => Ok((*word).to_string()),
                None => Err(format!("reads '{text}', which stands for none of {}", first_words(codes))),
            },
            Form::Menu => {
                chosen(text).map(String::from).ok_or_else(|| format!("'{text}' has no choice in brackets"))
            }
            Form::Choice(_) if text.is_empty() => Err("is empty".into()),
            Form::Choice(_) => Ok(text.to_string()),
            Form::CpuList => CpuSet::from_list(text).map(|set| set.to_list()).map_err(|e| e.to_string()),
            Form::CpuMask { .. } => {
                CpuSet::from_mask(text).map(|set| set.to_list()).map_err(|e| e.to_string())
            }
        }
    }

    /// The value, as plans write it, that writing `text` to the file asks for. Errors: why it asks for none.
    pub(super) fn meant(self, text: &str) -> Result<String, String> {
        let text = text.trim();
        match self {
            Form::Menu | Form::Choice(_) if text.is_empty() || text.contains(char::is_whitespace) => {
                Err(format!("'{text}' is not a single word"))
            }
            // Written, the word stands alone; read, it stands in brackets.
            Form::Menu | Form::Choice(_) => Ok(text.to_string()),
            _ => self.read(text),
        }
    }

    /// What to write for a value of a plan. Errors: it is none of this form, or out of range.
    pub(super) fn write(self, of: &Setting, value: &str) -> Result<String, Fault> {
        let value = value.trim();
        let one_of = |words: Vec<&str>| match words.contains(&value) {
            true => Ok(value.to_string()),
            false => Err(of.refused(format!("'{value}' is none of its values"), words.join(", "))),
        };
        match self {
            Form::Number { least, most, words } => match words.iter().find(|(word, _)| *word == value) {
                Some((_, held)) => Ok((*held).to_string()),
                None => of.within(value, of.bound(least), of.bound(most), words),
            },
            Form::PowerOfTwo { most } => {
                let written = of.within(value, Some(0), Some(most), &[])?;
                match written.parse::<u64>() {
                    Ok(n) if n == 0 || n.is_power_of_two() => Ok(written),
                    _ => {
                        Err(of
                            .refused(format!("{value} is not a power of two"), "0, or a power of two".into()))
                    }
                }
            }
            Form::Codes(codes) => match codes.iter().find(|(word, _)| *word == value) {
                Some((_, held)) => Ok((*held).to_string()),
                None => Err(of.refused(format!("'{value}' is none of its values"), first_words(codes))),
            },
            Form::Menu => one_of(of.now.split_whitespace().map(|w| w.trim_matches(['[', ']'])).collect()),
            Form::Choice(beside) => {
                let choices = of.root.line(of.beside(beside)).unwrap_or_default();
                // What it is now is a value of it, also where the menu leaves it out (a number from firmware).
                one_of(choices.split_whitespace().chain([of.now]).collect())
            }
            Form::CpuList => Ok(of.cpus(value, false)?.to_list()),
            Form::CpuMask { may_be_empty } => Ok(wide(&of.cpus(value, may_be_empty)?, of.now)),
        }
    }
}

impl Setting<'_> {
    fn refused(&self, cause: String, allowed: String) -> Fault {
        let object = format!("{} of {}", self.about.id, self.target);
        Fault::new(Class::Usage, object, cause, format!("choose from: {allowed} ({})", self.about.unit))
    }

    fn beside(&self, name: &str) -> String {
        format!("{}/{name}", &self.path[..self.path.rfind('/').unwrap_or(0)])
    }

    fn bound(&self, bound: Bound) -> Option<i64> {
        match bound {
            Bound::Is(number) => Some(number),
            Bound::Beside(name) => self.root.number(self.beside(name)).ok(),
        }
    }

    fn within(
        &self,
        value: &str,
        least: Option<i64>,
        most: Option<i64>,
        words: &[(&str, &str)],
    ) -> Result<String, Fault> {
        let end = |end: Option<i64>| end.map_or("what the kernel takes".to_string(), |n| n.to_string());
        let mut allowed = format!("{} to {}", end(least), end(most));
        words.iter().for_each(|(word, _)| allowed = format!("{allowed}, {word}"));
        match number(value) {
            Ok(n) if least.is_none_or(|least| n >= least) && most.is_none_or(|most| n <= most) => {
                Ok(n.to_string())
            }
            Ok(n) => Err(self.refused(format!("{n} is out of range"), allowed)),
            Err(why) => Err(self.refused(why, allowed)),
        }
    }

    fn cpus(&self, value: &str, may_be_empty: bool) -> Result<CpuSet, Fault> {
        let cpus = cpus(self.root, self.about, self.target, value)?;
        if cpus.is_empty() && !may_be_empty {
            let object = format!("{} of {}", self.about.id, self.target);
            return Err(Fault::new(Class::Usage, object, "the set is empty", "name at least one CPU"));
        }
        Ok(cpus)
    }
}

fn number(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number"))
}

fn first_words(codes: &[(&str, &str)]) -> String {
    codes.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
}

/// The word in brackets, where there is one and no more.
pub fn chosen(menu: &str) -> Option<&str> {
    let mut in_brackets = menu.split_whitespace().filter_map(|w| w.strip_prefix('[')?.strip_suffix(']'));
    let word = in_brackets.next()?;
    in_brackets.next().is_none().then_some(word)
}

/// The mask with as many digits as the present one has.
pub(super) fn wide(cpus: &CpuSet, present: &str) -> String {
    let digits = |mask: &str| mask.chars().filter(char::is_ascii_hexdigit).collect::<String>();
    let width = digits(present).len();
    let padded: Vec<char> = format!("{:0>width$}", digits(&cpus.to_mask())).chars().collect();
    let words = padded.rchunks(8).rev().map(|word| word.iter().collect::<String>());
    words.collect::<Vec<_>>().join(",")
}
