//! What controller and agent say of a verb of pinwise that runs on the agent's host, and of the files of its run.

use serde::{Deserialize, Serialize};

/// A verb of pinwise, as an agent runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunVerb {
    /// Which.
    pub verb: Verb,
    /// Words behind it on the command line.
    pub arguments: Vec<String>,
    /// Its working directory, as [`Answer::Folder`] has it.
    pub folder: String,
}

/// Verbs that an agent runs: a closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// `pinwise study`.
    Study,
    /// `pinwise resume`.
    Resume,
    /// `pinwise apply`.
    Apply,
    /// `pinwise confirm`.
    Confirm,
    /// `pinwise verify`.
    Verify,
    /// `pinwise undo`.
    Undo,
    /// `pinwise status`.
    Status,
    /// `pinwise plan`.
    Plan,
}

impl Verb {
    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Study => "study",
            Self::Resume => "resume",
            Self::Apply => "apply",
            Self::Confirm => "confirm",
            Self::Verify => "verify",
            Self::Undo => "undo",
            Self::Status => "status",
            Self::Plan => "plan",
        }
    }
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Of the file below the folder.
    pub path: String,
    /// Where it begins, bytes.
    pub from: u64,
    /// Its length, bytes.
    pub bytes: u64,
}

/// A file or folder below a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Path below the folder.
    pub path: String,
    /// Length of a file, bytes; none of a folder.
    pub bytes: Option<u64>,
    /// Whether others than its owner and group may not read it.
    pub private: bool,
}

/// What came of a verb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerbEnd {
    /// Its exit code; 128 and the number of the signal that ended it.
    pub exit_code: i32,
    /// The first of its standard output, up to 4 MiB.
    pub stdout: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_has_the_word_of_its_name() {
        for verb in [Verb::Study, Verb::Resume, Verb::Apply, Verb::Confirm] {
            assert_eq!(serde_json::to_value(verb).unwrap(), verb.word());
        }
        for verb in [Verb::Verify, Verb::Undo, Verb::Status, Verb::Plan] {
            assert_eq!(serde_json::to_value(verb).unwrap(), verb.word());
        }
        assert!(serde_json::from_str::<Verb>("\"agent\"").is_err());
    }
}
