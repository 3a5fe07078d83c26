//! What a guest's own command line says of it: its name, and whether libvirt wrote it. Nothing else of it is kept.

/// What is of use here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// `-name NAME` or `-name guest=NAME,...` (qemu(1)).
    pub(crate) name: Option<String>,
    /// `-uuid UUID`.
    pub(crate) uuid: Option<String>,
    /// Whether its monitor has the name that libvirt gives it.
    pub(crate) by_libvirt: bool,
}

/// The alias of libvirt's own monitor (qemuBuildMonitorCommandLine of libvirt).
const MONITOR: &str = "chardev=charmonitor";

/// Parses /proc/PID/cmdline: arguments that end with NUL.
pub(crate) fn parse(text: &str) -> CommandLine {
    let mut found = CommandLine::default();
    let mut arguments = text.split('\0');
    while let Some(argument) = arguments.next() {
        let value = match argument {
            "-name" | "--name" | "-uuid" | "--uuid" | "-mon" | "--mon" => {
                arguments.next().unwrap_or_default()
            }
            _ => continue,
        };
        match argument.trim_start_matches('-') {
            "name" => found.name = name(value),
            "uuid" => found.uuid = Some(value.to_string()),
            _ => found.by_libvirt |= options(value).iter().any(|option| option == MONITOR),
        }
    }
    found
}

/// The name in `-name`; the key `guest` may be left out of the first option. `None` for one that no plan could name.
fn name(value: &str) -> Option<String> {
    let options = options(value);
    let named = options.iter().find_map(|option| option.strip_prefix("guest="));
    let first = options.first().filter(|option| !option.contains('=')).map(String::as_str);
    let name = named.or(first)?;
    let fits = !name.is_empty() && name.trim() == name && !name.contains(char::is_control);
    fits.then(|| name.to_string())
}

/// Options between commas, of which two stand for one within an option.
fn options(value: &str) -> Vec<String> {
    let mut options = vec![String::new()];
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ',' && letters.next_if_eq(&',').is_none() {
            options.push(String::new());
        } else if let Some(option) = options.last_mut() {
            option.push(letter);
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(value: &str) -> Option<String> {
        parse(&format!("qemu-system-x86_64\0-S\0-name\0{value}\0")).name
    }

    #[test]
    fn names_as_people_and_libvirt_write_them() {
        assert_eq!(named("db").as_deref(), Some("db"));
        assert_eq!(named("db,debug-threads=on").as_deref(), Some("db"));
        assert_eq!(named("guest=pw test-1,debug-threads=on").as_deref(), Some("pw test-1"));
        assert_eq!(named("debug-threads=on,guest=a,,b").as_deref(), Some("a,b"));
        for none in ["", "debug-threads=on", "guest=", "a\nb", " "] {
            assert_eq!(named(none), None, "{none}");
        }
        assert_eq!(parse("qemu-kvm\0-name"), CommandLine::default());
    }

    #[test]
    fn the_line_that_libvirt_writes_is_known() {
        let line = "/usr/bin/qemu-system-x86_64\0-name\0guest=db,debug-threads=on\0-S\0-uuid\0\
                    f37c6602-cd1f-4a54-94c3-e9fbfe9aff94\0-chardev\0socket,id=charmonitor,fd=25,server=on,wait=off\0\
                    -mon\0chardev=charmonitor,id=monitor,mode=control\0";
        let found = parse(line);
        assert!(found.by_libvirt);
        assert_eq!(found.uuid.as_deref(), Some("f37c6602-cd1f-4a54-94c3-e9fbfe9aff94"));
        assert!(!parse("qemu\0-mon\0chardev=char0,id=charmonitor\0").by_libvirt);
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(text in "(-name|-uuid|-mon|guest=|,|\0|é|[a-z]){0,20}") {
            let _ = parse(&text);
        }
    }
}
