//! /proc/cpuinfo (arch/x86/kernel/cpu/proc.c and its like): a block of `key : value` lines for each CPU that is online.

/// Keys and values in the order of the file, without blanks around them; lines of another form are left out.
pub fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim(), value.trim()))
}

/// The value of a key, of the first CPU that has it.
pub fn first<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    lines(text).find(|(key, _)| *key == wanted).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cpu_with_a_key_answers() {
        let text =
            "processor\t: 0\nmodel name\t: A 1\n\nno pair\nprocessor\t: 1\nmodel name\t: B\nflags\t\t:\n";
        assert_eq!(first(text, "model name"), Some("A 1"));
        assert_eq!(first(text, "flags"), Some(""));
        assert_eq!(first(text, "model"), None);
        assert_eq!(lines(text).filter(|(key, _)| *key == "processor").count(), 2);
    }
}
