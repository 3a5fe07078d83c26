//! What of a text could not be read although the rest could.

use std::fmt;

use super::Malformed;

/// Most oddities of which line and reason are kept: one text may have millions.
const MOST_KEPT: usize = 8;

/// The rows and fields of one text that do not have the form that the kernel documents, in the order in which they were met.
/// What was parsed has nothing in their place: no row, or a field that is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Oddities {
    first: Vec<Malformed>,
    more: usize,
}

impl Oddities {
    /// Takes one up.
    pub(super) fn add(&mut self, odd: Malformed) {
        match self.first.len() < MOST_KEPT {
            true => self.first.push(odd),
            false => self.more = self.more.saturating_add(1),
        }
    }

    /// The value, or nothing and one oddity more.
    pub(super) fn keep<T>(&mut self, read: Result<T, Malformed>) -> Option<T> {
        read.map_err(|odd| self.add(odd)).ok()
    }

    /// The error of a text of which nothing could be read: the first oddity, or `why` where there is none.
    pub(super) fn first_or(&self, why: Malformed) -> Malformed {
        self.first.first().cloned().unwrap_or(why)
    }

    /// Whether all of the text could be read.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The first ones, with line and reason.
    pub fn first(&self) -> &[Malformed] {
        &self.first
    }

    /// How many there are beside the first ones.
    pub fn more(&self) -> usize {
        self.more
    }
}

impl fmt::Display for Oddities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, odd) in self.first.iter().enumerate() {
            let between = if number == 0 { "" } else { "; " };
            write!(f, "{between}{odd}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keep_their_reasons_and_the_others_are_counted() {
        let mut odd = Oddities::default();
        assert!(odd.is_empty() && odd.to_string().is_empty());
        assert_eq!(odd.keep(Ok(5)), Some(5));
        for line in 1..=1_000 {
            assert_eq!(odd.keep::<u64>(Err(Malformed::new(line, "x", "is not a number"))), None);
        }
        assert_eq!((odd.first().len(), odd.more()), (MOST_KEPT, 1_000 - MOST_KEPT));
        assert!(
            odd.to_string().starts_with("malformed in line 1, 'x': is not a number; malformed in line 2")
        );
        assert!(odd.to_string().ends_with("; and 992 more"), "{odd}");
    }

    #[test]
    fn a_text_of_which_nothing_could_be_read_has_the_first_reason() {
        let why = Malformed::new(1, "", "nothing is there");
        let mut odd = Oddities::default();
        assert_eq!(odd.first_or(why.clone()), why);
        odd.add(Malformed::new(3, "ctxt", "is not a number"));
        assert_eq!(odd.first_or(why).line, 3);
    }
}
