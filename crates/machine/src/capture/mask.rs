//! Takes out of a capture what names one host and says nothing about its shape: host name, addresses, serial
//! numbers, secrets on the command line.

/// The part of a file's text that may leave the house; `None` when nothing in it had to be masked.
///
/// Only the command line can hold addresses and secrets among the files that are read; identifiers (MAC, UUID) are
/// masked wherever they stand.
pub(super) fn masked(path: &str, text: &str, hostname: &str) -> Option<String> {
    let is_cmdline = path.ends_with("/cmdline");
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !part_of_word(c)).unwrap_or(rest.len());
        if end == 0 {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let word = &rest[..end];
        out.push_str(&mask_word(word, is_cmdline, hostname, &out));
        rest = &rest[end..];
    }
    (out != text).then_some(out)
}

/// Letters, digits, and what joins them in addresses and names.
fn part_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '_')
}

fn mask_word(word: &str, is_cmdline: bool, hostname: &str, before: &str) -> String {
    let is_value = before.ends_with('=');
    match () {
        () if is_uuid(word) => "00000000-0000-0000-0000-000000000000".into(),
        () if is_boot_interface(word) => "01-00-00-00-00-00-00".into(),
        () if is_mac(word) => "00:00:00:00:00:00".into(),
        () if !is_cmdline => word.to_string(),
        () if is_value && is_secret(before) => "masked".into(),
        () if hostname.len() > 1 && word == hostname => "host".into(),
        // `ip=A:B:C` joins addresses, host name and device by colons.
        () => word.split(':').map(|part| mask_part(part, hostname)).collect::<Vec<_>>().join(":"),
    }
}

fn mask_part(part: &str, hostname: &str) -> String {
    match () {
        () if is_ipv4(part) => "0.0.0.0".into(),
        () if hostname.len() > 1 && part == hostname => "host".into(),
        () => part.to_string(),
    }
}

fn is_ipv4(text: &str) -> bool {
    text.parse::<std::net::Ipv4Addr>().is_ok()
}

fn is_mac(text: &str) -> bool {
    let mut groups = 0;
    let hex = text.split(':').all(|group| {
        groups += 1;
        group.len() == 2 && group.bytes().all(|b| b.is_ascii_hexdigit())
    });
    hex && groups == 6
}

/// `BOOTIF=01-aa-bb-cc-dd-ee-ff`, as boot loaders pass the card that they booted from.
fn is_boot_interface(text: &str) -> bool {
    text.strip_prefix("01-").is_some_and(|mac| is_mac(&mac.replace('-', ":")))
}

fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    groups.len() == lengths.len()
        && groups
            .iter()
            .zip(lengths)
            .all(|(group, length)| group.len() == length && group.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether the parameter whose `=` ends `before` is named like a secret.
fn is_secret(before: &str) -> bool {
    let name = before.trim_end_matches('=');
    let name = name.rsplit(char::is_whitespace).next().unwrap_or(name).to_ascii_lowercase();
    ["pass", "secret", "token", "credential", "apikey", "api_key", "serial"]
        .iter()
        .any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_serials_and_secrets_of_the_command_line() {
        let text = "root=UUID=0a1b2c3d-0000-4111-8222-93a4b5c6d7e8 ip=10.0.0.7::10.0.0.1:255.255.255.0:web7:eth0:off \
                    auth_token=abc.def isolcpus=2-3 nohz_full=2-3 BOOTIF=01-aa-bb-cc-dd-ee-ff mac=aa:bb:cc:dd:ee:ff\n";
        let out = masked("/proc/cmdline", text, "web7").unwrap();
        assert_eq!(
            out,
            "root=UUID=00000000-0000-0000-0000-000000000000 ip=0.0.0.0::0.0.0.0:0.0.0.0:host:eth0:off \
             auth_token=masked isolcpus=2-3 nohz_full=2-3 BOOTIF=01-00-00-00-00-00-00 mac=00:00:00:00:00:00\n"
        );
    }

    #[test]
    fn what_tells_the_shape_stays() {
        for (path, text) in [
            ("/proc/interrupts", "  38:  10 PCI-MSIX-0000:00:03.0 1-edge eth0\n"),
            ("/proc/version", "Linux version 5.4.0.1 web7\n"),
            ("/proc/cmdline", "quiet isolcpus=managed_irq,2-3 console=ttyS0\n"),
            ("/sys/x", "é 0-3,8\n"),
        ] {
            assert_eq!(masked(path, text, "web7"), None, "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_and_masking_twice_is_masking_once(text in ".{0,60}") {
            if let Some(once) = masked("/proc/cmdline", &text, "host7") {
                proptest::prop_assert_eq!(masked("/proc/cmdline", &once, "host7"), None);
            }
        }
    }
}
