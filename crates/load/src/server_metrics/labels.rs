//! Labels of a series as they stand in braces: `code="200",handler="/a \"b\""`. Pure.

use crate::drive::answer::shown;

/// A series has no more labels than this.
const MOST_LABELS: usize = 128;

/// Name and value.
pub(super) type Label = (String, String);

/// The labels from behind the opening brace on, and what stands behind the closing one. The error says what is wrong with them.
pub(super) fn labels(text: &str) -> Result<(Vec<Label>, &str), String> {
    let mut labels: Vec<Label> = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        let (label, after) = one(rest)?;
        if labels.iter().any(|(name, _)| *name == label.0) {
            return Err(format!("label {} is given twice", label.0));
        }
        if labels.len() == MOST_LABELS {
            return Err(format!("it has more than {MOST_LABELS} labels"));
        }
        labels.push(label);
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if after.starts_with('}') => after,
            None => return Err("a label is followed by neither a comma nor a closing brace".into()),
        };
    }
}

fn one(text: &str) -> Result<(Label, &str), String> {
    let (name, value) = text.split_once('=').ok_or("a label has no '=', or a closing brace is missing")?;
    let name = name.trim_end();
    if !is_label_name(name) {
        return Err(format!("'{}' is not a label name", shown(name.as_bytes())));
    }
    let name = name.to_string();
    let value = value.trim_start().strip_prefix('"');
    let value = value.ok_or_else(|| format!("the value of label {name} is not in double quotes"))?;
    let (value, rest) =
        quoted(value).ok_or_else(|| format!("the value of label {name} has no closing quote"))?;
    Ok(((name, value), rest))
}

fn is_label_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let starts = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    starts && text.len() <= 256 && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The text up to the closing quote with its escapes resolved, and what stands behind; none without a closing quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                escaped @ ('\\' | '"') => value.push(escaped),
                // No escape of the format: it stands for itself.
                other => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    None
}

/// The labels in braces, as [`labels`] reads them; nothing where there are none.
pub(super) fn in_braces(labels: &[Label]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let each: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", each.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Vec<Label> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn labels_are_read_with_their_escapes() {
        let (read, rest) = labels(r#"a="b",c = "x \"y\" \\ \n z}" , } 1"#).unwrap();
        assert_eq!(read, of(&[("a", "b"), ("c", "x \"y\" \\ \n z}")]));
        assert_eq!(rest, " 1");
        assert_eq!(labels("} 2").unwrap(), (Vec::new(), " 2"));
        assert_eq!(labels(r#"a="\d"}"#).unwrap().0, of(&[("a", "\\d")]), "no escape of the format");
    }

    #[test]
    fn what_is_wrong_with_them_is_named() {
        for (text, why) in [
            (r#"a="b""#, "neither a comma nor"),
            (r#"a="b"#, "no closing quote"),
            (r#"a="b\"#, "no closing quote"),
            (r#"a='b'}"#, "not in double quotes"),
            (r#"1a="b"}"#, "'1a' is not a label name"),
            (r#""a"="b"}"#, "not a label name"),
            (r#"a="b",a="c"}"#, "given twice"),
            ("a", "no '='"),
            (",", "no '='"),
        ] {
            let error = labels(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let many: String = (0..200).map(|i| format!("l{i}=\"\",")).collect();
        assert!(labels(&many).unwrap_err().contains("more than 128"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s).{0,60}", near in "[a-c=\"\\\\,{} \n]{0,40}") {
            let _ = labels(&text);
            let _ = labels(&near);
        }

        #[test]
        fn what_is_written_is_read_again(value in "(?s).{0,30}") {
            let written = in_braces(&of(&[("a", value.as_str()), ("b", "")]));
            let (read, rest) = labels(&written[1..]).unwrap();
            proptest::prop_assert_eq!(read, of(&[("a", value.as_str()), ("b", "")]));
            proptest::prop_assert_eq!(rest, "");
        }
    }
}
