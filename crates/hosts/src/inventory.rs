//! Hosts of a study as files and flags name them: `[[hosts]]` in TOML, an Ansible inventory in INI, or `--host load=b,c`.
//!
//! Of an Ansible inventory counts what says how a host is reached: `ansible_host`, `ansible_port`, `ansible_user`,
//! `ansible_ssh_private_key_file`, `ansible_ssh_common_args`, `ansible_ssh_extra_args`, `ansible_connection` and
//! `ansible_group_priority`, and variables of pinwise's own, `pinwise_processes`, `pinwise_cpus` and `pinwise_folder`. Other variables
//! are ignored. Hosts of the groups `server` and `servers`, and of groups below them, run the server; all others drive load. Folders of
//! variables beside the file (`group_vars`, `host_vars`) are not read, and templates (`{{ ... }}`) are not filled in: one in a variable
//! that counts is an error.

mod ansible;
mod flag;
mod hosts_file;
mod refusals;

use std::path::Path;

use machine::untrusted::file::read_text;
use machine::{Class, Fault};

use crate::host::{self, HostSpec};

/// Longest file of hosts. It may come out of a pipe.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a file of hosts: TOML where its name ends in `.toml` or it begins with a table of hosts, else an Ansible inventory in INI.
///
/// # Errors
/// The file cannot be read, is longer than 16 MiB, is in a form that is not read (YAML, JSON, a program), is malformed, names no host or
/// more than 10,000, or a host makes no sense. What is wrong within the file is named with its line.
pub fn read(path: &Path) -> Result<Vec<HostSpec>, Fault> {
    let file = path.display().to_string();
    let remedy = "name a file of hosts that can be read: TOML, or an Ansible inventory in INI";
    let text = read_text(path, MOST_BYTES).map_err(|error| Fault::io(&file, &error, remedy))?;
    // Editors of some systems put a byte order mark there.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let hosts = match Form::of(path, text) {
        Form::Toml => hosts_file::parse(text, &file)?,
        Form::Ini => ansible::parse(text, &file)?,
        Form::Refused { line, what } => {
            let cause = format!("it is {what}, which pinwise does not read");
            let remedy = "write the hosts as INI or as TOML (docs/hosts.md); what ansible-inventory --list prints is not read, either";
            return Err(Fault::new(Class::Usage, format!("{file}:{line}"), cause, remedy));
        }
    };
    if hosts.is_empty() {
        let remedy = "add one: a [[hosts]] table with a name in TOML, or a line with its name in INI";
        return Err(Fault::new(Class::Usage, file, "names no host", remedy));
    }
    host::check_all(&hosts)
        .map_err(|fault| Fault { object: format!("{file}: {}", fault.object), ..fault })?;
    Ok(hosts)
}

/// Hosts of a flag, `ROLE=HOST[*PROCESSES],...`: `load=b,c`, `load=b*3,c*3`, `server=a`, `load=ann@10.0.0.2`. A host's name is what ssh
/// is given.
///
/// # Errors
/// The words do not have this form, the role is neither `load` nor `server`, a host is given twice, or one makes no sense.
pub fn of_flag(words: &str) -> Result<Vec<HostSpec>, Fault> {
    let hosts = flag::parse(words)?;
    host::check_all(&hosts)
        .map_err(|fault| Fault { object: format!("--host: {}", fault.object), ..fault })?;
    Ok(hosts)
}

/// Hosts of a file and of flags together: first those of the file.
///
/// # Errors
/// As [`read`] and [`of_flag`]; a host is in more than one of them.
pub fn given(file: Option<&Path>, flags: &[String]) -> Result<Vec<HostSpec>, Fault> {
    let mut hosts = file.map(read).transpose()?.unwrap_or_default();
    for words in flags {
        hosts.extend(of_flag(words)?);
    }
    host::check_all(&hosts)?;
    Ok(hosts)
}

/// What a file of hosts is written in.
#[derive(Debug, PartialEq, Eq)]
enum Form {
    Toml,
    Ini,
    /// Seen by a line, counted from 1.
    Refused {
        line: usize,
        what: &'static str,
    },
}

impl Form {
    fn of(path: &Path, text: &str) -> Self {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        if ending.as_deref() == Some("toml") {
            return Self::Toml;
        }
        if text.starts_with("#!") {
            return Self::Refused { line: 1, what: "a program" };
        }
        let mut lines = text.lines().map(str::trim).enumerate();
        let first = lines.find(|(_, line)| !line.is_empty() && !line.starts_with(['#', ';']));
        let (line, first) = first.map_or((1, ""), |(at, first)| (at + 1, first));
        let is_array_of_hosts =
            first.strip_prefix("hosts").is_some_and(|rest| rest.trim_start().starts_with('='));
        match ending.as_deref() {
            Some("yml" | "yaml") => Self::Refused { line, what: "YAML" },
            Some("json") => Self::Refused { line, what: "JSON" },
            _ if first.starts_with("[[") || is_array_of_hosts => Self::Toml,
            _ if first.starts_with('{') => Self::Refused { line, what: "JSON" },
            _ if first.starts_with("---") || first.ends_with(':') => Self::Refused { line, what: "YAML" },
            _ => Self::Ini,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Role;

    /// A file of this name and text, read.
    fn read_as(name: &str, text: &str) -> Result<Vec<HostSpec>, Fault> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    fn names(hosts: &[HostSpec]) -> Vec<&str> {
        hosts.iter().map(|host| host.name.as_str()).collect()
    }

    #[test]
    fn a_file_is_read_by_its_ending_or_by_how_it_begins() {
        let (toml, ini) = ("# ours\n\n[[hosts]]\nname = \"b\"\n", "# ours\n\n[load]\nb\n");
        for hosts in [
            read_as("hosts.toml", toml),
            read_as("hosts", toml),
            read_as("hosts", "\u{feff}hosts = [{ name = \"b\" }]\n"),
            read_as("hosts.ini", ini),
            read_as("hosts", &format!("\u{feff}{ini}")),
        ] {
            assert_eq!(hosts.unwrap(), [HostSpec::named("b")]);
        }
        assert!(read_as("hosts.toml", ini).is_err());
    }

    #[test]
    fn what_is_not_read_is_named_with_what_to_write() {
        let refused = |name: &str, text: &str| {
            let fault = read_as(name, text).unwrap_err();
            assert!(fault.class == Class::Usage && fault.remedy.contains("INI or as TOML"), "{fault}");
            fault.to_string()
        };
        assert!(refused("hosts.yml", "\nload:\n").contains("hosts.yml:2: it is YAML"));
        assert!(refused("hosts", "# ours\n---\nall:\n").contains("hosts:2: it is YAML"));
        assert!(refused("hosts", "all:\n  hosts:\n").contains("it is YAML"));
        assert!(refused("hosts", "{\"_meta\": {}}").contains("it is JSON"));
        assert!(refused("hosts.py", "#!/usr/bin/python3\n").contains("hosts.py:1: it is a program"));
    }

    #[test]
    fn a_file_of_no_host_or_none_at_all_is_an_error() {
        for (name, text) in [("hosts.toml", ""), ("hosts", "# none yet\n"), ("hosts", "[load]\n[server]\n")] {
            assert!(read_as(name, text).unwrap_err().to_string().contains("names no host"), "{name}");
        }
        let missing = read(Path::new("/nonexistent/hosts")).unwrap_err();
        assert!(missing.class == Class::Storage && missing.object == "/nonexistent/hosts", "{missing}");
        assert!(read(Path::new("/dev/zero")).is_err(), "it has no end");
    }

    #[test]
    fn a_flag_that_makes_no_sense_is_named() {
        assert_eq!(names(&of_flag("load=b,c").unwrap()), ["b", "c"]);
        assert_eq!(of_flag("server=a").unwrap()[0].role, Role::Server);
        let why = |words: &str| of_flag(words).unwrap_err().to_string();
        assert!(why("load=b,b").contains("--host: host b: is given twice"), "{}", why("load=b,b"));
        assert!(why("load=-oProxyCommand=x").contains("name"));
        assert!(why("load=b*0").contains("processes"));
    }
}
