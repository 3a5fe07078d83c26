//! A choice in the form in which it is read.

use std::fmt;

use super::{Choice, End, Range, Which, Word};

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
            Self::Parenthesised(choice) => write!(f, "({choice})"),
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
