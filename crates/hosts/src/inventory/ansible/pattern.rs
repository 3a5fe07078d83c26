//! The first word of a host's line: a name, an address, or a range of names, with or without a port.

use std::net::Ipv6Addr;

use machine::{Class, Fault};

use super::super::refusals::{MOST_HOSTS, excerpt, too_many};

/// Longest pattern: it is repeated in each name of a range.
const MOST_CHARACTERS: usize = 512;

/// The hosts that a pattern stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Their names, in the order of the ranges.
    pub names: Vec<String>,
    /// The port of them all.
    pub port: Option<u16>,
}

/// # Errors
/// The pattern is malformed, or stands for more hosts than a study may have.
pub(super) fn expanded(pattern: &str) -> Result<Pattern, Fault> {
    let object = format!("host {}", excerpt(pattern));
    let wrong = |cause: &str| {
        let remedy = "write a name, with a port (b:2222) or a range: web[01:10].example.com, db-[a:f]";
        Fault::new(Class::Usage, &object, cause, remedy)
    };
    if pattern.len() > MOST_CHARACTERS {
        return Err(wrong("the name is too long"));
    }
    if let Some((address, port)) = ipv6(pattern) {
        let port = port.map(port_of).transpose().map_err(wrong)?;
        return Ok(Pattern { names: vec![address.to_string()], port });
    }
    let (host, port) = match pattern.rsplit_once(':').filter(|(_, end)| !end.contains(']')) {
        None => (pattern, None),
        Some((host, port)) => (host, Some(port_of(port).map_err(wrong)?)),
    };
    let mut names = vec![String::new()];
    let mut rest = host;
    while let Some((before, range)) = rest.split_once('[') {
        let (range, after) = range.split_once(']').ok_or_else(|| wrong("a [ has no ]"))?;
        let Some(words) = words(range).map_err(wrong)? else { return Err(too_many(&object)) };
        if names.len() * words.len() > MOST_HOSTS {
            return Err(too_many(&object));
        }
        let with_each = |name: &String| {
            let start = format!("{name}{before}");
            words.iter().map(move |word| format!("{start}{word}")).collect::<Vec<_>>()
        };
        names = names.iter().flat_map(with_each).collect();
        rest = after;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(Pattern { names, port })
}

/// An address of IPv6, alone or in brackets, and the port that may follow the brackets.
fn ipv6(pattern: &str) -> Option<(&str, Option<&str>)> {
    let is_address = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    if is_address(pattern) {
        return Some((pattern, None));
    }
    let (address, after) = pattern.strip_prefix('[')?.split_once(']')?;
    match after.strip_prefix(':') {
        _ if !is_address(address) => None,
        None => after.is_empty().then_some((address, None)),
        port => Some((address, port)),
    }
}

fn port_of(text: &str) -> Result<u16, &'static str> {
    text.parse::<u16>().ok().filter(|port| *port > 0).ok_or("after the : stands no port, 1 to 65535")
}

/// What a range (`01:10`, `a:f`, `0:100:10`) stands for; none: for more hosts than a study may have. Errors: what is wrong with it.
fn words(range: &str) -> Result<Option<Vec<String>>, &'static str> {
    let parts: Vec<&str> = range.split(':').collect();
    let (begin, end, step) = match parts[..] {
        [begin, end] => (begin, end, 1_usize),
        [begin, end, step] => {
            (begin, end, step.parse::<usize>().map_err(|_| "the step of a range is not a number")?)
        }
        _ => return Err("a range is not of the form [FROM:TO]"),
    };
    if step == 0 {
        return Err("the step of a range is 0");
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match (begin.as_bytes(), end.as_bytes()) {
        // As in a slice, it begins at 0 where nothing else is said.
        _ if is_number(end) && (begin.is_empty() || is_number(begin)) => numbers(begin, end, step),
        (&[from], &[to]) if is_letters(from, to) => {
            if from > to {
                return Err("a range ends before it begins");
            }
            Ok(Some((from..=to).step_by(step).map(|letter| char::from(letter).to_string()).collect()))
        }
        _ => Err("a range is neither of numbers nor of single letters of one case"),
    }
}

fn is_letters(from: u8, to: u8) -> bool {
    [from, to].iter().all(u8::is_ascii_lowercase) || [from, to].iter().all(u8::is_ascii_uppercase)
}

fn numbers(begin: &str, end: &str, step: usize) -> Result<Option<Vec<String>>, &'static str> {
    let has_leading_zeros = begin.len() > 1 && begin.starts_with('0');
    if has_leading_zeros && begin.len() != end.len() {
        return Err("a range with leading zeros has ends of different lengths");
    }
    let width = if has_leading_zeros { begin.len() } else { 0 };
    let number = |text: &str| match text {
        "" => Ok(0_u64),
        text => text.parse::<u64>().map_err(|_| "a number of a range is too large"),
    };
    let (begin, end) = (number(begin)?, number(end)?);
    if begin > end {
        return Err("a range ends before it begins");
    }
    if (end - begin) / (step as u64) >= MOST_HOSTS as u64 {
        return Ok(None);
    }
    Ok(Some((begin..=end).step_by(step).map(|number| format!("{number:0width$}")).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pattern: &str) -> Vec<String> {
        expanded(pattern).unwrap().names
    }

    #[test]
    fn ranges_keep_leading_zeros_and_follow_their_steps() {
        assert_eq!(names("web[08:11].example.com"), [8, 9, 10, 11].map(|n| format!("web{n:02}.example.com")));
        assert_eq!(names("b[8:11]"), ["b8", "b9", "b10", "b11"]);
        assert_eq!(names("b[:2]"), ["b0", "b1", "b2"]);
        assert_eq!(names("b[0:10:5]-x"), ["b0-x", "b5-x", "b10-x"]);
        assert_eq!(names("db-[a:c]"), ["db-a", "db-b", "db-c"]);
        assert_eq!(names("[X:Z].lab"), ["X.lab", "Y.lab", "Z.lab"]);
    }

    #[test]
    fn the_first_of_several_ranges_turns_slowest() {
        assert_eq!(names("r[1:2]n[a:b]"), ["r1na", "r1nb", "r2na", "r2nb"]);
    }

    #[test]
    fn a_port_is_of_all_hosts_of_a_range_and_no_part_of_an_address() {
        let of = |pattern: &str| expanded(pattern).unwrap();
        assert_eq!(of("b"), Pattern { names: vec!["b".into()], port: None });
        assert_eq!(of("b[1:2]:2222"), Pattern { names: vec!["b1".into(), "b2".into()], port: Some(2222) });
        assert_eq!(of("2001:db8::1"), Pattern { names: vec!["2001:db8::1".into()], port: None });
        assert_eq!(of("[2001:db8::1]:2222"), Pattern { port: Some(2222), ..of("2001:db8::1") });
        assert_eq!(of("[2001:db8::1]"), of("2001:db8::1"));
    }

    #[test]
    fn what_is_wrong_with_a_range_or_a_port_is_said() {
        let why = |pattern: &str| expanded(pattern).unwrap_err().to_string();
        assert!(why("b[1:2").contains("host b[1:2: a [ has no ]"), "{}", why("b[1:2"));
        assert!(why("b[1]").contains("[FROM:TO]") && why("b[1:2:3:4]").contains("[FROM:TO]"));
        assert!(why("b[5:1]").contains("ends before") && why("b[f:a]").contains("ends before"));
        assert!(why("b[01:100]").contains("different lengths"));
        assert!(why("b[a:F]").contains("neither") && why("b[1:]").contains("neither"));
        assert!(why("b[é:ü]").contains("neither"));
        assert!(why("b[1:9:0]").contains("step") && why("b[1:9:x]").contains("step"));
        assert!(why("b[1:99999999999999999999]").contains("too large"));
        assert!(why("b:").contains("no port") && why("b:0").contains("no port"));
        assert!(why("b:70000").contains("no port") && why("[2001:db8::1]:x").contains("no port"));
        assert!(why(&"b".repeat(MOST_CHARACTERS + 1)).contains("too long"));
    }

    #[test]
    fn a_range_beyond_all_reason_is_never_made() {
        let why = |pattern: &str| expanded(pattern).unwrap_err().to_string();
        assert_eq!(names("b[1:10000]").len(), MOST_HOSTS);
        assert!(why("b[0:10000]").contains("more than 10000"));
        assert!(why("b[0:18446744073709551615]").contains("more than 10000"));
        assert!(why("[1:200][1:200]x").contains("more than 10000"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ab0-9:\\[\\]]{0,30}|(?s:.{0,30})") {
            if let Ok(pattern) = expanded(&text) {
                proptest::prop_assert!((1..=MOST_HOSTS).contains(&pattern.names.len()));
            }
        }
    }
}
