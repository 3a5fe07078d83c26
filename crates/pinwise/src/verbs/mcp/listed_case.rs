//! What a list of cases shows of each: the head of its study.

use std::io::Read as _;
use std::path::Path;

use machine::untrusted::file;
use serde::{Deserialize, Serialize};

/// The most of a study that is read, bytes.
const MOST_STUDY_BYTES: u64 = 8 << 20;

/// A case that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its folder below the folder of cases: the id by which tools take it.
    pub id: String,
    /// What its recipe is called; `None` for a study of the built-in server, or where it cannot be read.
    pub name: Option<String>,
    /// The figure that it decides by.
    pub metric: Option<String>,
    /// When it was made, s since 1970.
    pub made_unix_s: Option<u64>,
    /// Why nothing of it is known.
    pub problem: Option<String>,
}

/// The part of a study that is shown in a list.
#[derive(Debug, Deserialize)]
struct Head {
    made_unix_s: Option<u64>,
    recipe: Recipe,
}

#[derive(Debug, Deserialize)]
struct Recipe {
    #[serde(default)]
    name: String,
    metric: Option<String>,
}

impl Listed {
    /// The case with this file of a study, in the folder that these names lead to.
    pub fn of(study: &Path, way: &[String]) -> Self {
        let id = if way.is_empty() { ".".to_string() } else { way.join("/") };
        match head(study) {
            Ok(Head { made_unix_s, recipe }) => {
                let name = Some(recipe.name).filter(|name| !name.is_empty());
                Self { id, name, metric: recipe.metric, made_unix_s, problem: None }
            }
            Err(problem) => Self { id, name: None, metric: None, made_unix_s: None, problem: Some(problem) },
        }
    }
}

/// The head of a study, or why it cannot be read.
fn head(path: &Path) -> Result<Head, String> {
    let opened = file::open_found(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    opened.take(MOST_STUDY_BYTES).read_to_string(&mut text).map_err(|error| error.to_string())?;
    toml::from_str(&text).map_err(|error| error.message().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_that_cannot_be_read_is_listed_with_why() {
        let place = tempfile::tempdir().unwrap();
        let study = place.path().join("study.toml");
        let way = ["a".to_string(), "b".to_string()];
        assert!(Listed::of(&study, &way).problem.is_some());
        for text in ["\u{0}[[[", "", "recipe = 5", "made_unix_s = -1\n[recipe]"] {
            std::fs::write(&study, text).unwrap();
            let listed = Listed::of(&study, &way);
            assert!(listed.problem.is_some() && listed.name.is_none() && listed.id == "a/b", "{text}");
        }
        std::fs::write(&study, "[recipe]\nname = \"\"").unwrap();
        assert_eq!(
            Listed::of(&study, &[]),
            Listed { id: ".".into(), name: None, metric: None, made_unix_s: None, problem: None }
        );
    }
}
