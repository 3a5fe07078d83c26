//! A file of hosts in TOML: tables of `[[hosts]]` with the keys that they have in a recipe.

use std::collections::BTreeMap;

use machine::{Class, Fault};
use serde::Deserialize;
use toml::Spanned;

use super::refusals::{MOST_HOSTS, excerpt, located, too_many};
use crate::host::HostSpec;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostsFile {
    #[serde(default)]
    hosts: Vec<Spanned<HostSpec>>,
}

/// # Errors
/// The text is no TOML, a key is unknown, a value does not fit its key, a host makes no sense or is given twice; the fault names line
/// and key.
pub(super) fn parse(text: &str, file: &str) -> Result<Vec<HostSpec>, Fault> {
    let read: HostsFile = toml::from_str(text).map_err(|error| malformed(text, file, &error))?;
    if read.hosts.len() > MOST_HOSTS {
        return Err(too_many(file));
    }
    let mut starts = BTreeMap::new();
    for spanned in &read.hosts {
        let (host, start) = (spanned.get_ref(), spanned.span().start);
        host.check().map_err(|fault| located(file, position(text, start).0, fault))?;
        if let Some(before) = starts.insert(host.name.as_str(), start) {
            let cause = format!("is given twice: on line {} too", position(text, before).0);
            let remedy = "give each host once; several processes on it are its key processes";
            let fault = Fault::new(Class::Usage, format!("host {}", host.name), cause, remedy);
            return Err(located(file, position(text, start).0, fault));
        }
    }
    Ok(read.hosts.into_iter().map(Spanned::into_inner).collect())
}

fn malformed(text: &str, file: &str, error: &toml::de::Error) -> Fault {
    let object = match error.span() {
        None => file.to_string(),
        Some(span) => {
            let (line, column) = position(text, span.start);
            let key = text.lines().nth(line - 1).and_then(key_of);
            let key = key.map(|key| format!(": key {key}")).unwrap_or_default();
            format!("{file}:{line}:{column}{key}")
        }
    };
    Fault::new(Class::Usage, object, excerpt(error.message()), "see docs/hosts.md for the keys of a host")
}

/// Line and column, from 1, of a place in a text.
fn position(text: &str, at_byte: usize) -> (usize, usize) {
    let before = text.get(..at_byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    (line, column)
}

/// The key that a line gives a value: messages about values do not name it.
fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (!key.is_empty() && key.len() < 64 && key.chars().all(is_plain)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Role, Via};

    #[test]
    fn tables_are_hosts_with_all_keys_of_a_recipe() {
        let text = "[[hosts]]\nname = \"b\"\nssh = \"ann@10.0.0.2\"\nssh_options = [\"-p\", \"2222\"]\n\
                    processes = 3\ncpus = \"1-3\"\nfolder = \"/tmp/p\"\n\n\
                    [[hosts]]\nname = \"a\"\nrole = \"server\"\nvia = \"local\"\nnetns = \"n\"\n";
        let hosts = parse(text, "h.toml").unwrap();
        let b = HostSpec {
            ssh: Some("ann@10.0.0.2".into()),
            ssh_options: vec!["-p".into(), "2222".into()],
            processes: 3,
            cpus: Some("1-3".into()),
            folder: Some("/tmp/p".into()),
            ..HostSpec::named("b")
        };
        let a =
            HostSpec { role: Role::Server, via: Via::Local, netns: Some("n".into()), ..HostSpec::named("a") };
        assert_eq!(hosts, [b, a]);
        assert_eq!(parse("hosts = [{ name = \"b\" }]", "h").unwrap(), [HostSpec::named("b")]);
    }

    #[test]
    fn a_wrong_key_or_value_is_named_with_its_place() {
        let fault = parse("[[hosts]]\nname = \"b\"\nrol = \"load\"\n", "h.toml").unwrap_err();
        assert_eq!((fault.class, fault.object.as_str()), (Class::Usage, "h.toml:3:1: key rol"));
        assert!(fault.cause.contains("rol"), "{fault}");
        let fault = parse("[[hosts]]\nname = \"b\"\nprocesses = \"x\"\n", "h.toml").unwrap_err();
        assert_eq!(fault.object, "h.toml:3:13: key processes");
        assert!(parse("[[host]]\nname = \"b\"\n", "h").unwrap_err().cause.contains("hosts"));
        assert!(parse("[[hosts]]\nname = b c\n", "h").unwrap_err().object.starts_with("h:2:"));
    }

    #[test]
    fn a_host_that_makes_no_sense_is_named_with_its_line() {
        let why = |text: &str| parse(text, "h").unwrap_err().to_string();
        assert!(why("\n[[hosts]]\nrole = \"load\"\n").starts_with("h:2: host : name"));
        assert!(why("[[hosts]]\nname = \"b\"\nprocesses = 0\n").starts_with("h:1: host b: processes"));
        let twice = why("[[hosts]]\nname = \"b\"\n\n[[hosts]]\nname = \"b\"\n");
        assert!(twice.starts_with("h:4: host b: is given twice: on line 1 too"), "{twice}");
    }

    #[test]
    fn hosts_beyond_all_reason_are_refused() {
        let text = "[[hosts]]\nname = \"b\"\n".repeat(MOST_HOSTS + 1);
        assert!(parse(&text, "h").unwrap_err().to_string().contains("more than 10000"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\[\\[hosts\\]\\]\nname = )?(?s:.{0,60})") {
            let _ = parse(&text, "h");
        }
    }
}
