//! Names of Unix sockets as the kernel keeps them.

use crate::bpf::{UNIX_NAME_BYTES, UnixName};

/// The kernel's form of a name as /proc/PID/net/unix has it; `None` for one that cannot be found again: it is too long, or no text.
pub(super) fn unix_name(name: &str) -> Option<UnixName> {
    let mut known = UnixName { bytes: 0, name: [0; UNIX_NAME_BYTES] };
    if name.is_empty() || name.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    }
    match name.strip_prefix('@') {
        // It begins with NUL, and no NUL ends it.
        Some(rest) => {
            let place = known.name.get_mut(1..=rest.len())?;
            place.copy_from_slice(rest.as_bytes());
            known.bytes = u32::try_from(1 + rest.len()).ok()?;
        }
        // The kernel puts a NUL behind it.
        None => {
            let place = known.name[..UNIX_NAME_BYTES - 1].get_mut(..name.len())?;
            place.copy_from_slice(name.as_bytes());
        }
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_end_with_nul_and_abstract_names_begin_with_it() {
        let path = unix_name("/run/a").unwrap();
        assert_eq!((path.bytes, &path.name[..7]), (0, &b"/run/a\0"[..]));
        let hidden = unix_name("@a").unwrap();
        assert_eq!((hidden.bytes, &hidden.name[..3]), (2, &b"\0a\0"[..]));
        assert_eq!(unix_name("@").map(|name| name.bytes), Some(1));
        for none in ["", "/run/\u{fffd}", &"a".repeat(108), &format!("@{}", "a".repeat(108))] {
            assert_eq!(unix_name(none), None, "{none}");
        }
        assert!(
            unix_name(&"a".repeat(107)).is_some() && unix_name(&format!("@{}", "a".repeat(107))).is_some()
        );
    }

    proptest::proptest! {
        #[test]
        fn no_name_makes_it_panic(name in "@?.{0,120}") {
            let _ = unix_name(&name);
        }
    }
}
