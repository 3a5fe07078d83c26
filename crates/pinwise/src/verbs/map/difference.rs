//! `pinwise map --diff BEFORE AFTER`: what changed between two captures.

use std::path::Path;

use machine::{Class, Fault, Machine, Root, diff};
use report::map::machine_text;
use serde::Serialize;

use super::form::{Form, no_such_form};
use crate::output::{self, Answer};

/// What `--format json` prints.
#[derive(Serialize)]
struct Differences {
    differences: Vec<diff::Difference>,
}

/// Compares and prints; the answer is no when anything differs.
pub fn run(before: &Path, after: &Path, form: Form, to: Option<&Path>) -> Result<Answer, Fault> {
    let [before, after] = [before, after].map(|path| Ok::<_, Fault>(Machine::read(&Root::at(path)?)));
    let differences = diff::between(&before?, &after?)
        .map_err(|why| Fault::new(Class::Storage, "a machine as JSON", why, machine::IS_A_BUG))?;
    let answer = if differences.is_empty() { Answer::Done } else { Answer::No };
    let text = match form {
        Form::Text => output::fitted(to, machine_text::differences(&differences)),
        Form::Json => output::pretty(&Differences { differences })?,
        Form::Svg | Form::Html => return Err(no_such_form("differences")),
    };
    output::to(to, &text)?;
    Ok(answer)
}
