//! Cases of studies whose server was on another host than the one that they were asked for on.

use std::collections::BTreeMap;

use machine::{Class, Fault};
use study::Case;
use study::case::resume_command;

/// The note of a recipe that names the host of the server, by its own name (uname).
pub const SERVER_HOST: &str = "server_host";

/// Holds a case whose server was on another host to that host: a server of this one would be compared with it.
///
/// # Errors
/// This is another host.
pub fn check(case: &Case) -> Result<(), Fault> {
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let Some(there) = of_another(&case.study.recipe.notes, &here) else { return Ok(()) };
    let cause = format!("its server runs on host {there}, and this is {here}");
    let remedy = format!("copy it there (scp -r), and there: {}", resume_command(case.dir()));
    Err(Fault::new(Class::Usage, case.dir().display(), cause, remedy))
}

/// The host of the server, where that is not this one.
fn of_another<'a>(notes: &'a BTreeMap<String, String>, here: &str) -> Option<&'a str> {
    notes.get(SERVER_HOST).map(String::as_str).filter(|there| *there != here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_goes_on_where_its_server_runs() {
        let notes = BTreeMap::from([(SERVER_HOST.to_string(), "a".to_string())]);
        assert_eq!(of_another(&notes, "b"), Some("a"));
        assert_eq!(of_another(&notes, "a"), None);
        assert_eq!(of_another(&BTreeMap::new(), "b"), None);
    }
}
