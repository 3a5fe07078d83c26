//! Where this machine's apt gets the packages of its own release, as text for `mmdebstrap`.

use std::process::Command;

use machine::{Class, Fault};

/// Suites of a release that a root is made from: itself, its updates, its security updates. Others, backports among
/// them, would bring packages that the machine itself does not have.
const SUITES: [&str; 3] = ["", "-updates", "-security"];

/// Settings of apt that say how packages are reached, and whether old lists of packages are taken.
const SETTINGS: [&str; 5] =
    ["Acquire::http", "Acquire::https", "Acquire::Check-", "Acquire::Retries", "Acquire::Max-ValidTime"];

/// What `mmdebstrap` is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sources {
    /// Codename of the release: `bookworm`.
    pub(super) suite: String,
    /// Lines of a sources.list(5).
    pub(super) list: String,
    /// Lines of an apt.conf(5).
    pub(super) settings: String,
}

/// Asks this machine's apt.
///
/// # Errors
/// When there is no apt, or it has no packages of the release that /etc/os-release names.
pub(super) fn read() -> Result<Sources, Fault> {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let suite = codename(&release).ok_or_else(|| missing("/etc/os-release names no VERSION_CODENAME"))?;
    let format = "$(REPO_URI) $(RELEASE) $(COMPONENT)";
    let targets = ask(&["apt-get", "indextargets", "--format", format, "Created-By: Packages"])?;
    let list = list(&targets, &suite);
    if list.is_empty() {
        return Err(missing(&format!("apt has no lists of {suite}; apt-get update fetches them")));
    }
    let settings = settings(&ask(&["apt-config", "dump"])?);
    Ok(Sources { suite, list, settings })
}

fn ask(words: &[&str]) -> Result<String, Fault> {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.map_err(|e| missing(&format!("{} cannot be started: {e}", words[0])))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(missing(&format!("{}: {}", words[0], String::from_utf8_lossy(&output.stderr).trim()))),
    }
}

fn missing(why: &str) -> Fault {
    Fault::new(
        Class::MachineLacks,
        "a Debian root",
        why,
        "make it on Debian, or one of its kind, with working apt sources; or use --userland busybox",
    )
}

/// VERSION_CODENAME of an os-release(5).
fn codename(release: &str) -> Option<String> {
    let named = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(named.trim_matches(['"', '\'']).to_string()).filter(|name| !name.is_empty())
}

/// The lines of a sources.list(5) for one release, from `URI RELEASE COMPONENT` lines. The main component has to be
/// there, so that a vendor's archive that uses the same names is not taken.
fn list(targets: &str, suite: &str) -> String {
    let fields = targets.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?, words.next()?))
    });
    let fields: Vec<_> = fields
        .filter(|(_, release, _)| release.strip_prefix(suite).is_some_and(|rest| SUITES.contains(&rest)))
        .collect();
    let has_main = |uri: &str, release: &str| fields.contains(&(uri, release, "main"));
    let mut lines = String::new();
    for (uri, release, component) in fields.iter().filter(|(uri, release, _)| has_main(uri, release)) {
        let line = format!("deb {uri} {release} {component}\n");
        if !lines.contains(&line) {
            lines += &line;
        }
    }
    lines
}

/// Those lines of `apt-config dump` that bear on fetching.
fn settings(dump: &str) -> String {
    let kept = dump.lines().filter(|line| SETTINGS.iter().any(|name| line.starts_with(name)));
    kept.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_and_its_updates_and_nothing_of_others() {
        let targets = "http://a/debian/ bookworm-backports main\nhttp://a/debian/ bookworm main\n\
                       http://a/debian/ bookworm main\nhttp://a/debian/ bookworm contrib\n\
                       http://s/debian-security/ bookworm-security main\nhttp://v/ bookworm stable\n\
                       http://w/ cloud-sdk-bookworm main\nhttp://x/ bookwormy main\ntorn\n";
        let listed = list(targets, "bookworm");
        let lines: Vec<&str> = listed.lines().collect();
        assert_eq!(
            lines,
            [
                "deb http://a/debian/ bookworm main",
                "deb http://a/debian/ bookworm contrib",
                "deb http://s/debian-security/ bookworm-security main"
            ]
        );
        assert_eq!(list("", "bookworm"), "");
    }

    #[test]
    fn settings_of_fetching_only() {
        let dump = "APT::Architecture \"amd64\";\nAcquire::http::Proxy \"http://p\";\n\
                    Acquire::Check-Valid-Until \"false\";\nAcquire::IndexTargets \"\";\n";
        let kept = "Acquire::http::Proxy \"http://p\";\nAcquire::Check-Valid-Until \"false\";\n";
        assert_eq!(settings(dump), kept);
    }

    #[test]
    fn codenames_with_and_without_quotes() {
        assert_eq!(codename("A=1\nVERSION_CODENAME=bookworm\n").as_deref(), Some("bookworm"));
        assert_eq!(codename("VERSION_CODENAME=\"noble\"\n").as_deref(), Some("noble"));
        assert_eq!(codename("VERSION_CODENAME=\n"), None);
    }
}
