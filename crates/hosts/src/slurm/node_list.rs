//! Slurm's lists of nodes: `n[1-3,5],gpu[01-16]-ib`. `scontrol show hostnames` expands them too, but needs a controller that answers.

use machine::{Class, Fault};

/// Most nodes of a list: a few characters can stand for any number.
const MOST_NODES: usize = 10_000;

/// Longest list, bytes: the kernel passes no longer variable.
const MOST_BYTES: usize = 128 << 10;

/// Longest name of a node.
const LONGEST_NAME: usize = 255;

/// Most digits of a number in brackets.
const MOST_DIGITS: usize = 12;

/// Most characters of a list that an error quotes.
const MOST_QUOTED: usize = 60;

/// The names in a list of nodes, in its order.
///
/// # Errors
/// The list is empty, malformed or too long, or stands for more than [`MOST_NODES`] nodes.
pub(super) fn expand(list: &str) -> Result<Vec<String>, Fault> {
    names(list.trim()).map_err(|cause| {
        let quoted: String = list.chars().take(MOST_QUOTED).collect();
        let remedy = "it should read as n[1-3,5],m7: see SLURM_JOB_NODELIST in sbatch(1)";
        Fault::new(Class::Usage, format!("list of nodes '{quoted}'"), cause, remedy)
    })
}

fn names(list: &str) -> Result<Vec<String>, String> {
    if list.len() > MOST_BYTES {
        return Err(format!("it has more than {MOST_BYTES} bytes"));
    }
    let mut names = Vec::new();
    for item in items(list) {
        names.extend(expanded(item)?);
        if names.len() > MOST_NODES {
            return Err(too_many());
        }
    }
    Ok(names)
}

/// What stands between commas outside of brackets.
fn items(list: &str) -> Vec<&str> {
    let (mut found, mut begin, mut within) = (Vec::new(), 0, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' => within = true,
            b']' => within = false,
            b',' if !within => {
                found.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[begin..]);
    found
}

/// The names of one item. Of several pairs of brackets the last counts fastest.
fn expanded(item: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = item;
    while let Some((before, behind)) = rest.split_once('[') {
        let (ranges, behind) = behind.split_once(']').ok_or("a bracket is not closed")?;
        let numbers = numbers(ranges)?;
        let plain = plain(before)?;
        if names.len() * numbers.len() > MOST_NODES {
            return Err(too_many());
        }
        have_room(&names, plain.len() + MOST_DIGITS)?;
        let longer =
            names.iter().flat_map(|name| numbers.iter().map(move |number| format!("{name}{plain}{number}")));
        names = longer.collect();
        rest = behind;
    }
    let plain = plain(rest)?;
    have_room(&names, plain.len())?;
    names.iter_mut().for_each(|name| name.push_str(plain));
    if let Some(wrong) = names.iter().find(|name| name.is_empty() || name.starts_with(['-', '.'])) {
        return Err(format!("'{wrong}' is not a name of a node"));
    }
    Ok(names)
}

/// Whether so many characters more fit into each name, before any of them is written down.
fn have_room(names: &[String], more: usize) -> Result<(), String> {
    match names.iter().all(|name| name.len() + more <= LONGEST_NAME) {
        true => Ok(()),
        false => Err(format!("a name has more than {LONGEST_NAME} characters")),
    }
}

/// The same text, of characters that names of nodes have.
fn plain(text: &str) -> Result<&str, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match text.chars().find(|c| !is_plain(*c)) {
        None => Ok(text),
        Some(other) => Err(format!("'{other}' is in no name of a node")),
    }
}

/// What `1-3,05` stands for. Numbers have as many digits as the first of their range.
fn numbers(ranges: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(low)?, number(high)?);
        if first > last {
            return Err(format!("{first}-{last} runs backwards"));
        }
        if last - first >= (MOST_NODES - found.len()) as u64 {
            return Err(too_many());
        }
        found.extend((first..=last).map(|number| format!("{number:0digits$}", digits = low.len())));
    }
    Ok(found)
}

fn number(digits: &str) -> Result<u64, String> {
    let is_number =
        (1..=MOST_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_number { digits.parse().ok() } else { None };
    number.ok_or_else(|| {
        format!("there is no number of at most {MOST_DIGITS} digits where one should be in brackets")
    })
}

fn too_many() -> String {
    format!("it stands for more than {MOST_NODES} nodes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_stand_for_their_nodes_in_order() {
        for (list, nodes) in [
            ("n1", "n1"),
            ("n[1-3]", "n1 n2 n3"),
            ("n[1-3,5],gpu7\n", "n1 n2 n3 n5 gpu7"),
            ("n[08-11]", "n08 n09 n10 n11"),
            ("n[8-11]", "n8 n9 n10 n11"),
            ("r[1-2]n[01,03]-ib", "r1n01-ib r1n03-ib r2n01-ib r2n03-ib"),
            ("[1-2].cluster", "1.cluster 2.cluster"),
        ] {
            assert_eq!(expand(list).unwrap().join(" "), nodes, "{list}");
        }
    }

    #[test]
    fn what_is_no_list_is_named() {
        for (list, why) in [
            ("", "not a name"),
            ("n1,,n2", "not a name"),
            ("n[1-3", "not closed"),
            ("n[3-1]", "backwards"),
            ("n[]", "no number"),
            ("n[1-]", "no number"),
            ("n[+1]", "no number"),
            ("n 1", "' '"),
            ("n]1", "']'"),
            ("-x", "'-x' is not a name"),
            ("n[1-10001]", "more than 10000"),
            ("n[1-200]m[1-200]", "more than 10000"),
            ("n[1-9999],m[1-2]", "more than 10000"),
            ("n[1-99999999999999999999]", "no number"),
        ] {
            let fault = expand(list).unwrap_err();
            assert!(fault.class == Class::Usage && fault.to_string().contains(why), "{list}: {fault}");
        }
    }

    #[test]
    fn names_are_bounded_however_they_are_written() {
        assert_eq!(expand("n[1-10000]").unwrap().len(), 10_000);
        let brackets = format!("n[1-10000]{}", "[1]".repeat(30_000));
        assert!(expand(&brackets).unwrap_err().to_string().contains("255"));
        let letters = format!("[1-10000]{}", "x".repeat(100_000));
        assert!(expand(&letters).unwrap_err().to_string().contains("255"));
        assert!(expand(&"n1,".repeat(100_000)).unwrap_err().to_string().contains("bytes"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s).{0,60}", like in "[n0-9,\\[\\]-]{0,40}") {
            for text in [text, like] {
                if let Ok(nodes) = expand(&text) {
                    proptest::prop_assert!(nodes.len() <= MOST_NODES && !nodes.is_empty());
                }
            }
        }
    }
}
