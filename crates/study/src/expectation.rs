//! What a gate demands of a study: `requests_per_s of "cpu 1" >= 0.97 x baseline`. Judged by [`crate::evidence`].

mod syntax;

use machine::{Class, Fault};

use self::syntax::as_written;
pub use self::syntax::{Expectation, Relation};
use crate::arm::{Arm, Role};

/// The word for both runs of the baseline, where a recipe gives the baseline another name.
const BASELINE: &str = "baseline";

/// The arms that a name stands for: two of the baseline, one otherwise; none where there is no such arm.
pub fn named<'a>(arms: &'a [Arm], name: &str) -> Vec<&'a Arm> {
    let is_baseline = |arm: &&Arm| arm.role == Role::Baseline && (name == BASELINE || name == arm.title());
    let exactly: Vec<&Arm> = arms.iter().filter(|arm| arm.name == name).collect();
    match exactly.is_empty() {
        true => arms.iter().filter(is_baseline).collect(),
        false => exactly,
    }
}

impl Expectation {
    /// The arms that it is about; empty where it names one that is not there, or names none and there are several.
    pub fn subject<'a>(&self, arms: &'a [Arm]) -> Vec<&'a Arm> {
        match &self.arm {
            Some(name) => named(arms, name),
            None => {
                let candidates: Vec<&Arm> = arms.iter().filter(|arm| arm.role == Role::Candidate).collect();
                if candidates.len() == 1 { candidates } else { Vec::new() }
            }
        }
    }

    /// Holds it against the arms of a study before anything runs.
    ///
    /// # Errors
    /// It names an arm that is not there, or none where there are several; the fault lists the arms.
    pub fn check(&self, arms: &[Arm]) -> Result<(), Fault> {
        let cause = match (&self.arm, &self.times) {
            (None, _) if self.subject(arms).is_empty() => "it does not name an arm".to_string(),
            (Some(name), _) if named(arms, name).is_empty() => format!("there is no arm '{name}'"),
            (_, Some(name)) if named(arms, name).is_empty() => format!("there is no arm '{name}'"),
            _ => return Ok(()),
        };
        let names: Vec<String> = arms.iter().map(|arm| as_written(&arm.name)).collect();
        let remedy = format!("name one of: {BASELINE}, {}", names.join(", "));
        Err(Fault::new(Class::Usage, format!("expectation '{self}'"), cause, remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::all_alike;

    fn read(text: &str) -> Expectation {
        text.parse().unwrap()
    }

    #[test]
    fn an_arm_that_is_not_there_is_named_with_those_that_are() {
        let arms = all_alike(2, &[0, 1].into_iter().collect()).unwrap();
        let fault = read("x of \"cpu 7\" >= 1").check(&arms).unwrap_err();
        assert!(fault.cause.contains("cpu 7") && fault.remedy.contains("\"unpinned A\""), "{fault}");
        assert!(read("x >= 1").check(&arms).unwrap_err().cause.contains("does not name an arm"));
        assert_eq!(read("x of baseline >= 1").subject(&arms).len(), 2);
        assert_eq!(read("x of unpinned >= 1").subject(&arms).len(), 2);
        assert!(read("x of baseline >= 1 x \"unpinned A\"").check(&arms).is_ok());
    }
}
