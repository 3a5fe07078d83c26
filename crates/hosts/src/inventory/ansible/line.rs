//! The lines of an inventory.

use std::net::Ipv6Addr;

use machine::{Class, Fault};

use super::super::refusals::excerpt;
use super::pattern::{self, Pattern};
use super::variables::Variables;

/// What the lines of a section are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Hosts of a group: `[load]`.
    Hosts,
    /// Variables of a group: `[load:vars]`.
    Variables,
    /// Groups below a group: `[load:children]`.
    Children,
}

/// Group and kind of the section that a line begins; none: it begins none.
///
/// # Errors
/// The kind is unknown, or the group has no proper name.
pub(super) fn header(line: &str) -> Result<Option<(&str, Kind)>, Fault> {
    let Some((inner, after)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return Ok(None);
    };
    // Otherwise it is a host that begins with a range.
    let is_alone = after.trim().is_empty() || is_comment(after);
    if !is_alone || inner.parse::<Ipv6Addr>().is_ok() {
        return Ok(None);
    }
    let wrong = |cause: &str, remedy: &str| {
        Err(Fault::new(Class::Usage, format!("section [{}]", excerpt(inner)), cause, remedy))
    };
    let (group, kind) = inner.split_once(':').unwrap_or((inner, "hosts"));
    if group.is_empty() || group.contains(char::is_whitespace) || group.contains('[') {
        return wrong("its group has no proper name", "name the group in letters, digits, - and _");
    }
    let kind = match kind {
        "hosts" => Kind::Hosts,
        "vars" => Kind::Variables,
        "children" => Kind::Children,
        _ => {
            let remedy =
                "write [GROUP], [GROUP:vars] or [GROUP:children]; a range stands within a name: web[1:3]";
            return wrong("inventories have no section of this kind", remedy);
        }
    };
    Ok(Some((group, kind)))
}

/// Whether nothing but a comment follows.
fn is_comment(after: &str) -> bool {
    after.trim_start().starts_with(['#', ';'])
}

/// The hosts of a line, and what it says of them.
///
/// # Errors
/// A quote is not closed, the pattern is malformed, or a variable makes no sense. No fault quotes a word that may be (a part of) the
/// value of a variable that does not count: it could be a password.
pub(super) fn hosts(line: &str) -> Result<(Vec<String>, Variables), Fault> {
    let words = shell_words::split(line)
        .map_err(|why| Fault::new(Class::Usage, "line of a host", why, "close every quote"))?;
    let mut words = words.into_iter().take_while(|word| !word.starts_with(';'));
    let first = words.next().unwrap_or_default();
    if first.is_empty() {
        let remedy = "begin it with a name, or with # if it is a comment";
        return Err(Fault::new(Class::Usage, "line of a host", "names none", remedy));
    }
    let Pattern { names, port } = pattern::expanded(&first)?;
    let mut variables = Variables::with_port(port);
    for (at, word) in words.enumerate() {
        let Some((name, value)) = word.split_once('=') else {
            let cause = format!("word {} of its line has no =", at + 2);
            let remedy =
                "write NAME=VALUE, without blanks around the = and with quotes around a value that has some";
            return Err(Fault::new(Class::Usage, format!("host {}", excerpt(&first)), cause, remedy));
        };
        variables.set(name, value)?;
    }
    Ok((names, variables))
}

/// Name and value of a line of variables.
///
/// # Errors
/// The line has no `=`.
pub(super) fn assignment(line: &str) -> Result<(&str, String), Fault> {
    let Some((name, value)) = line.split_once('=') else {
        return Err(Fault::new(Class::Usage, "line of a group's variables", "has no =", "write NAME=VALUE"));
    };
    Ok((name.trim(), plain(value.trim())))
}

/// A value without the quotes around it, and without a comment behind it.
fn plain(text: &str) -> String {
    match text.chars().next() {
        Some('#') => String::new(),
        Some(quote @ ('"' | '\'')) => unquoted(text, quote).unwrap_or_else(|| text.to_string()),
        _ => {
            let comment = [" #", "\t#"].into_iter().filter_map(|mark| text.find(mark)).min();
            comment.map_or(text, |at| &text[..at]).trim_end().to_string()
        }
    }
}

/// What stands between the quotes; none where they are not around all of the text.
fn unquoted(text: &str, quote: char) -> Option<String> {
    let mut inner = String::new();
    let mut rest = text.chars();
    rest.next();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next()? {
                c @ ('\\' | '"' | '\'') => inner.push(c),
                c => inner.extend(['\\', c]),
            },
            c if c == quote => {
                let after = rest.as_str();
                return (after.trim().is_empty() || is_comment(after)).then_some(inner);
            }
            c => inner.push(c),
        }
    }
    None
}

/// The group of a line of children.
///
/// # Errors
/// There is more than one word.
pub(super) fn child(line: &str) -> Result<&str, Fault> {
    let (group, after) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if after.trim().is_empty() || is_comment(after) {
        return Ok(group);
    }
    let remedy = "write one group a line; variables stand in [GROUP:vars]";
    Err(Fault::new(Class::Usage, format!("group {}", excerpt(group)), "other words follow it", remedy))
}

#[cfg(test)]
mod tests {
    use super::super::variables::host_spec;
    use super::*;
    use crate::host::Role;

    #[test]
    fn a_section_is_distinguished_from_a_host_that_begins_with_a_range() {
        assert_eq!(header("[load]").unwrap(), Some(("load", Kind::Hosts)));
        assert_eq!(header("[load:vars] # ours").unwrap(), Some(("load", Kind::Variables)));
        assert_eq!(header("[all:children];x").unwrap(), Some(("all", Kind::Children)));
        for host in ["[a:f].example.com", "[1:3] ansible_user=ann", "[2001:db8::1]", "[load", "b"] {
            assert_eq!(header(host).unwrap(), None, "{host}");
        }
        for wrong in ["[a:f]", "[]", "[:vars]", "[two words]", "[web[1:2]"] {
            assert!(header(wrong).unwrap_err().object.starts_with("section ["), "{wrong}");
        }
    }

    #[test]
    fn a_line_of_hosts_ends_at_a_comment() {
        let (names, variables) = hosts("b[1:2]:2222 ansible_user=ann # the first ones").unwrap();
        assert_eq!(names, ["b1", "b2"]);
        let spec = host_spec("b1", Role::Load, &[&variables]);
        assert_eq!((spec.destination(), spec.ssh_options[1].as_str()), ("ann@b1", "2222"));
        assert_eq!(hosts("b ; the first").unwrap().0, ["b"]);
    }

    #[test]
    fn a_variable_takes_precedence_over_the_port_of_its_line() {
        let (_, variables) = hosts("b:2222 ansible_port=22").unwrap();
        assert_eq!(host_spec("b", Role::Load, &[&variables]).ssh_options, ["-p", "22"]);
    }

    #[test]
    fn no_fault_quotes_what_may_be_a_password() {
        for line in ["b ansible_password=correct horse", "b ansible_password='horse"] {
            let fault = hosts(line).unwrap_err().to_string();
            assert!(!fault.contains("horse"), "{fault}");
        }
        assert!(!assignment("ansible_password horse").unwrap_err().to_string().contains("horse"));
    }

    #[test]
    fn a_value_loses_its_quotes_and_its_comment() {
        let of = |line: &'static str| assignment(line).unwrap();
        assert_eq!(of("ansible_user = ann"), ("ansible_user", "ann".into()));
        assert_eq!(of("a='-o B=\"c d\"'").1, "-o B=\"c d\"");
        assert_eq!(of(r#"a="-o B=\"c d\"""#).1, "-o B=\"c d\"");
        assert_eq!(of("a='b c' # why").1, "b c");
        assert_eq!(of("a=b#c\t# why").1, "b#c");
        assert_eq!(of("a= # why").1, "");
        assert_eq!(of("a='b' 'c'").1, "'b' 'c'");
        assert_eq!(of("a='b").1, "'b");
        assert_eq!(of(r"a='\d'").1, r"\d");
    }

    #[test]
    fn a_line_of_children_is_one_group() {
        assert_eq!(child("web").unwrap(), "web");
        assert_eq!(child("web  # ours").unwrap(), "web");
        assert!(child("web ansible_user=ann").unwrap_err().object.contains("web"));
    }
}
