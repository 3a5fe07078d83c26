//! Paths inside a root: their one spelling, following links without leaving, order of names.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::{Component, Path};

use super::ReadError;

/// An absolute path in its one spelling: no `.`, no `..`, no doubled or final slash; the root is `/`.
pub(super) type Located<'a> = Cow<'a, str>;

/// How many links may be followed on one path, as in path_resolution(7).
const MOST_LINKS: usize = 40;

/// How many names may be met on one path, those of its links too. A path of sysfs has 15 and its links have as many.
const MOST_NAMES: usize = 2_000;

/// Brings a path into its one spelling. `..` is refused: behind a link it means another place than it seems.
pub(super) fn locate(path: &Path) -> Result<Located<'_>, ReadError> {
    // Nearly every path is spelled like that already.
    if let Some(text) = path.to_str()
        && let Some(names) = text.strip_prefix('/')
        && names.split('/').all(|name| !matches!(name, "" | "." | ".."))
    {
        return Ok(text.into());
    }
    let mut located = String::new();
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => {
                let name =
                    name.to_str().ok_or_else(|| ReadError::malformed(path, "its name is not UTF-8"))?;
                located.push('/');
                located.push_str(name);
            }
            Component::ParentDir | Component::Prefix(_) => {
                return Err(ReadError::malformed(path, "'..' has no place in a path of a reader"));
            }
        }
    }
    match located.is_empty() {
        true => Ok("/".into()),
        false => Ok(located.into()),
    }
}

/// Follows every link of `path`; `link` returns the target of a prefix that is a link. `..` at the top stays there.
pub(crate) fn resolve(
    path: &str,
    link: impl Fn(&str) -> Option<String>,
    exists: impl Fn(&str) -> bool,
) -> Result<String, ReadError> {
    let mut todo: Vec<String> = path.split('/').rev().map(String::from).collect();
    let mut done = String::new();
    let (mut followed, mut met) = (0, 0);
    while let Some(name) = todo.pop() {
        met += 1;
        if met > MOST_NAMES {
            return Err(ReadError::malformed(path, format!("more than {MOST_NAMES} names on the way")));
        }
        match name.as_str() {
            "" | "." => continue,
            ".." => {
                done.truncate(done.rfind('/').unwrap_or(0));
                continue;
            }
            _ => {}
        }
        let prefix = format!("{done}/{name}");
        let Some(target) = link(&prefix) else {
            done = prefix;
            continue;
        };
        followed += 1;
        if followed > MOST_LINKS {
            return Err(ReadError::malformed(path, format!("more than {MOST_LINKS} links on the way")));
        }
        if target.starts_with('/') {
            done.clear();
        }
        todo.extend(target.split('/').rev().map(String::from));
    }
    if done.is_empty() {
        done.push('/');
    }
    match exists(&done) {
        true => Ok(done),
        false => Err(ReadError::absent(path, "there is no such file")),
    }
}

/// Compares names so that the numbers in them count as numbers: `cpu2` before `cpu10`.
pub(super) fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (l, l_digits) = chunk(left);
        let (r, r_digits) = chunk(right);
        if l.is_empty() || r.is_empty() {
            // Equal as numbers ("01", "1"): the text itself decides, so that the order is total.
            return l.len().cmp(&r.len()).then_with(|| a.cmp(b));
        }
        let order = match l_digits && r_digits {
            true => {
                let (l, r) = (l.trim_start_matches('0'), r.trim_start_matches('0'));
                l.len().cmp(&r.len()).then_with(|| l.cmp(r))
            }
            false => l.cmp(r),
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (&left[l.len()..], &right[r.len()..]);
    }
}

/// The leading run of digits or of other characters.
fn chunk(text: &str) -> (&str, bool) {
    let digits = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    (&text[..end], digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_and_no_way_up() {
        assert_eq!(locate(Path::new("/sys//class/./net/")).unwrap(), "/sys/class/net");
        assert_eq!(locate(Path::new("proc/stat")).unwrap(), "/proc/stat");
        assert_eq!(locate(Path::new("/")).unwrap(), "/");
        assert!(locate(Path::new("/sys/../etc")).is_err());
    }

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["cpu10", "cpu2", "cpu", "cpufreq", "cpu02", "10", "9"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["9", "10", "cpu", "cpu02", "cpu2", "cpu10", "cpufreq"]);
    }

    #[test]
    fn links_lead_neither_out_nor_round_for_ever() {
        let link = |path: &str| match path {
            "/a" => Some("../../../b".to_string()),
            "/abs" => Some("/b/c".to_string()),
            "/loop" => Some("loop".to_string()),
            _ => None,
        };
        assert_eq!(resolve("/a/c", link, |_| true).unwrap(), "/b/c");
        assert_eq!(resolve("/abs", link, |_| true).unwrap(), "/b/c");
        assert_eq!(resolve("/", link, |_| true).unwrap(), "/");
        assert!(resolve("/loop", link, |_| true).unwrap_err().to_string().contains("links"));
        assert!(resolve("/b", link, |_| false).unwrap_err().is_absent());
    }

    proptest::proptest! {
        #[test]
        fn the_order_is_an_order(a in "[a-c0-2]{0,6}", b in "[a-c0-2]{0,6}", c in "[a-c0-2]{0,6}") {
            proptest::prop_assert_eq!(natural_order(&a, &b), natural_order(&b, &a).reverse());
            if natural_order(&a, &b).is_le() && natural_order(&b, &c).is_le() {
                proptest::prop_assert!(natural_order(&a, &c).is_le());
            }
        }
    }
}
