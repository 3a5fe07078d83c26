//! The YAML that perftune.py dumps and reads: keys with a word or a list of words. Other YAML is not read.

/// Keys with their words, in the order of the file, and lines that are neither.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) keys: Vec<(String, Vec<String>)>,
    pub(super) odd: Vec<String>,
}

impl Keys {
    /// The words of a key; none where it is not there.
    pub(super) fn all(&self, key: &str) -> &[String] {
        match self.keys.iter().find(|(name, _)| name == key) {
            Some((_, words)) => words,
            None => &[],
        }
    }

    /// The word of a key.
    pub(super) fn one(&self, key: &str) -> Option<&str> {
        self.all(key).first().map(String::as_str)
    }

    /// Whether a key is there and switched on.
    pub(super) fn is_on(&self, key: &str) -> bool {
        let on = ["true", "yes", "on", "1", "y", "t"];
        self.one(key).is_some_and(|word| on.contains(&word.to_lowercase().as_str()))
    }
}

pub(super) fn parse(text: &str) -> Keys {
    let mut read = Keys::default();
    let mut is_open = false;
    for line in text.lines() {
        let bare = without_comment(line).trim();
        if bare.is_empty() || bare == "---" {
            continue;
        }
        let item = bare.strip_prefix("- ").filter(|_| is_open);
        if let (Some(item), Some((_, words))) = (item, read.keys.last_mut()) {
            words.push(unquoted(item).into());
            continue;
        }
        let is_key = |key: &str| {
            !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        match bare.split_once(':') {
            Some((key, value)) if is_key(key) && !line.starts_with(char::is_whitespace) => {
                is_open = value.trim().is_empty();
                read.keys.push((key.into(), words(value.trim())));
            }
            _ => {
                is_open = false;
                read.odd.push(bare.into());
            }
        }
    }
    read
}

/// `a`, `[a, b]`, or nothing.
fn words(value: &str) -> Vec<String> {
    let list = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match list {
        Some(list) => {
            list.split(',').map(unquoted).filter(|word| !word.is_empty()).map(String::from).collect()
        }
        None if value.is_empty() => Vec::new(),
        None => vec![unquoted(value).into()],
    }
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    line.split_once(" #").map_or(line, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_words_or_lists() {
        let read = parse(
            "# x\n---\ncpu_mask: '0x0000000f,0x0'  # all\nnic:\n- eth0\n  - \"eth1\"\ntune: [net, disks]\ntune_clock: true\n  deep: 1\n- x\nodd\n",
        );
        assert_eq!((read.one("cpu_mask"), read.is_on("tune_clock")), (Some("0x0000000f,0x0"), true));
        assert_eq!(
            (read.all("nic"), read.all("tune")),
            (&["eth0".into(), "eth1".into()][..], &["net".into(), "disks".into()][..])
        );
        assert_eq!(read.odd, ["deep: 1", "- x", "odd"]);
        assert_eq!(read.all("dir"), [] as [String; 0]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s)([a-c:\\[\\]\\-' #,\n]|.){0,60}") {
            let _ = parse(&text);
        }
    }
}
