//! Files of lines with a name and a number: memory.stat, memory.events, memory.oom_control, cpu.stat
//! (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).

use super::{Malformed, decimal};

/// The number behind this name; none where there is no such line.
///
/// # Errors
/// There is no number in it.
pub fn value(text: &str, name: &str) -> Result<Option<u64>, Malformed> {
    for (line, number) in text.lines().zip(1..) {
        let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix([' ', '\t']));
        if let Some(value) = value {
            return decimal(number, name, value).map(Some);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_its_whole_name() {
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(value(text, "oom_kill"), Ok(Some(3)));
        assert_eq!(value(text, "oom"), Ok(None));
        assert_eq!(value("oom_kill\noom_kill x", "oom_kill").unwrap_err().line, 2);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([a-z_ 0-9]{0,9}\n?){0,5}", name in "[a-z_]{0,5}") {
            let _ = value(&text, &name);
        }
    }
}
