//! Kernel command lines as text.

/// The line with `words` at its end.
pub fn with(text: &str, words: &[String]) -> String {
    let line = text.trim_end_matches('\n');
    let between = if line.is_empty() { "" } else { " " };
    format!("{line}{between}{}{}", words.join(" "), &text[line.len()..])
}

/// The line without `words`. If nobody has changed it since [`with`], it is exactly the line from before; otherwise the
/// last one of each word is left out, with single blanks between the others.
pub fn without(text: &str, words: &[String]) -> String {
    let line = text.trim_end_matches('\n');
    let end = &text[line.len()..];
    let ours = words.join(" ");
    if let Some(rest) = line.strip_suffix(ours.as_str()) {
        match rest.strip_suffix(' ') {
            Some(rest) => return format!("{rest}{end}"),
            None if rest.is_empty() => return end.to_string(),
            None => {}
        }
    }
    let mut left = parameters(line);
    let mut removed = false;
    for word in words {
        if let Some(at) = left.iter().rposition(|other| other == word) {
            left.remove(at);
            removed = true;
        }
    }
    if removed { format!("{}{end}", left.join(" ")) } else { text.to_string() }
}

/// The parameters on a line as they are written, with their quotes.
pub fn parameters(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let apart = |letter: char| {
        quoted ^= letter == '"';
        letter.is_whitespace() && !quoted
    };
    line.split(apart).filter(|word| !word.is_empty()).collect()
}

/// The command line of each entry in the output of `grubby --info=ALL`: lines `args="..."`.
pub fn of_grubby(output: &str) -> Vec<&str> {
    let args = output.lines().filter_map(|line| line.trim().strip_prefix("args="));
    args.map(|args| args.strip_prefix('"').and_then(|args| args.strip_suffix('"')).unwrap_or(args)).collect()
}

/// Version of the kernel in an entry (Boot Loader Specification, key `version`).
pub fn version_of_entry(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("version")?.strip_prefix([' ', '\t']))?;
    Some(value.trim().to_string()).filter(|version| !version.is_empty() && !version.contains('/'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn what_somebody_else_wrote_stays() {
        let ours = words("nosmt nohz_full=1-3");
        assert_eq!(with("root=/dev/vda1 quiet\n", &ours), "root=/dev/vda1 quiet nosmt nohz_full=1-3\n");
        assert_eq!(without("a  b nosmt nohz_full=1-3 later\n", &ours), "a b later\n");
        assert_eq!(without("a  \"b=nosmt  c\" nohz_full=1\n", &ours), "a  \"b=nosmt  c\" nohz_full=1\n");
        assert_eq!(without("anosmt nohz_full=1-3", &ours), "anosmt", "a word that only ends in ours");
    }

    #[test]
    fn output_of_the_tools_is_read() {
        let output = "index=0\nkernel=\"/boot/vmlinuz-6.9\"\nargs=\"ro quiet x=\\\"1 2\\\"\"\nroot=\"UUID=1\"\n\
                    index=1\nkernel=\"/boot/vmlinuz-6.8\"\nargs=\"ro\"\nnon linux entry\n";
        assert_eq!(of_grubby(output), ["ro quiet x=\\\"1 2\\\"", "ro"]);
        let entry = "title      Debian\nversion    6.1.0-18-amd64\noptions    quiet\n";
        assert_eq!(version_of_entry(entry).as_deref(), Some("6.1.0-18-amd64"));
        assert_eq!(version_of_entry("versions 1\nversion ../../etc\n"), None);
    }

    proptest! {
        #[test]
        fn what_was_added_comes_off_without_a_trace(
            line in "[a-z=\", \t]{0,40}\n{0,2}", ours in proptest::collection::vec("[a-z]{1,4}(=[0-9,-]{1,4})?", 1..4)
        ) {
            let longer = with(&line, &ours);
            if !longer.contains('"') {
                prop_assert!(ours.iter().all(|word| parameters(&longer).contains(&word.as_str())));
            }
            prop_assert_eq!(without(&longer, &ours), line);
        }
    }
}
