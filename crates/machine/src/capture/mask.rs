//! Takes out of a capture what names one host and says nothing about its shape: host name, addresses, serial
//! numbers, secrets of the command line, and lines of configuration that no reader looks at.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::kernel::boot::words;
use crate::secret;

/// The part of a file's text that may leave the house; `None` when all of it may.
///
/// Paths of cgroups are left as they are: they lead to the files of their limits. Names in them are masked everywhere at
/// once (`names.rs`).
pub(super) fn masked(path: &str, text: &str, hostname: &str) -> Option<String> {
    let out = match path {
        _ if path.ends_with("/cmdline") => command_line(text, hostname),
        // Other file systems name servers, users and domains.
        "/proc/self/mountinfo" | "/proc/mounts" => kept(text, is_cgroup_mount),
        "/etc/default/irqbalance" | "/etc/sysconfig/irqbalance" => {
            kept(text, |line| line.trim_start().starts_with("IRQBALANCE_"))
        }
        _ if path.contains("/systemd/system.conf") => {
            kept(text, |line| ["[", "CPUAffinity", "NUMA"].iter().any(|start| line.starts_with(start)))
        }
        _ if path.ends_with("/cgroup") => return None,
        _ => text.split_inclusive(|c| !joins_word(c)).map(identifiers).collect(),
    };
    (out != text).then_some(out)
}

fn kept(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    text.split_inclusive('\n').filter(|line| wanted(line)).collect()
}

fn is_cgroup_mount(line: &str) -> bool {
    line.contains(" - cgroup")
        || line.split(' ').nth(2).is_some_and(|kind| kind.starts_with("cg") || kind == "cpuset")
}

/// Letters, digits, and what joins them in addresses and names.
fn joins_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ':' | '-')
}

/// A word of any file, with what ends it: MAC addresses and UUIDs are masked.
fn identifiers(word: &str) -> String {
    let core = word.trim_end_matches(|c| !joins_word(c));
    let end = &word[core.len()..];
    match core {
        _ if is_uuid(core) => format!("00000000-0000-0000-0000-000000000000{end}"),
        _ if is_mac(core) => format!("00:00:00:00:00:00{end}"),
        _ => word.to_string(),
    }
}

/// The command line word by word; a value that may hold a secret or the name of a server goes as a whole.
fn command_line(text: &str, hostname: &str) -> String {
    let words = words(text);
    let masked: Vec<String> = words.iter().map(|word| parameter(word, hostname)).collect();
    // Untouched words keep the text as it was, quotes and all.
    match masked == words {
        true => text.to_string(),
        false => masked.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ") + "\n",
    }
}

fn quoted(word: &str) -> String {
    if word.contains(char::is_whitespace) { format!("\"{word}\"") } else { word.to_string() }
}

fn parameter(word: &str, hostname: &str) -> String {
    let Some((name, value)) = word.split_once('=') else { return tokens(word, hostname) };
    let hides = is_secret(name) || value.contains('@') || value.contains("://") || value.contains("/by-id/");
    match hides {
        true => format!("{name}=masked"),
        false => format!("{name}={}", tokens(value, hostname)),
    }
}

/// Addresses and the host name among the parts of a value.
fn tokens(value: &str, hostname: &str) -> String {
    let whole = |text: &str| {
        let bare = text.trim_matches(['[', ']']);
        match bare {
            _ if is_uuid(bare) => Some("00000000-0000-0000-0000-000000000000"),
            _ if is_mac(bare) => Some("00:00:00:00:00:00"),
            _ if is_boot_interface(bare) => Some("01-00-00-00-00-00-00"),
            _ if bare.parse::<Ipv4Addr>().is_ok() => Some("0.0.0.0"),
            _ if bare.contains("::") && bare.len() > 2 && bare.parse::<Ipv6Addr>().is_ok() => Some("::"),
            _ if hostname.len() > 1 && bare == hostname => Some("host"),
            _ => None,
        }
    };
    if let Some(instead) = whole(value) {
        return instead.to_string();
    }
    // `ifname=eth0:00:11:22:33:44:55` (dracut.cmdline(7)).
    if let Some((name, mac)) = value.split_once(':')
        && is_mac(mac)
    {
        return format!("{name}:00:00:00:00:00:00");
    }
    // `UUID=...`, `ip=A::B:C:host:eth0:off`, lists.
    for separator in ['=', ',', '/', ':'] {
        if value.contains(separator) {
            let parts = value.split(separator).map(|part| tokens(part, hostname));
            return parts.collect::<Vec<_>>().join(&separator.to_string());
        }
    }
    value.to_string()
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

/// Whether the value of a parameter is a secret, or identifies the machine.
fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    secret::is_named(name) || ["pass", "serial", "luks.key", "user"].iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_serials_and_secrets_of_the_command_line() {
        for (word, out) in [
            (
                "root=UUID=0a1b2c3d-0000-4111-8222-93a4b5c6d7e8",
                "root=UUID=00000000-0000-0000-0000-000000000000",
            ),
            ("root=/dev/disk/by-id/nvme-Samsung_S5XXXX", "root=masked"),
            (
                "ip=10.0.0.7::10.0.0.1:255.255.255.0:web7:eth0:off",
                "ip=0.0.0.0::0.0.0.0:0.0.0.0:host:eth0:off",
            ),
            ("nameserver=2001:db8::1", "nameserver=::"),
            ("auth_token=abc/def+ghi", "auth_token=masked"),
            ("password=\"my secret\"", "password=masked"),
            ("netroot=iscsi:USER:PASS@192.168.0.1::iqn", "netroot=masked"),
            ("inst.ks=http://u:p@host/ks", "inst.ks=masked"),
            ("BOOTIF=01-aa-bb-cc-dd-ee-ff", "BOOTIF=01-00-00-00-00-00-00"),
            ("mac=aa:bb:cc:dd:ee:ff", "mac=00:00:00:00:00:00"),
            ("ifname=lan0:aa:bb:cc:dd:ee:ff", "ifname=lan0:00:00:00:00:00:00"),
        ] {
            let text = format!("quiet {word} isolcpus=2-3\n");
            assert_eq!(
                masked("/proc/cmdline", &text, "web7").unwrap(),
                format!("quiet {out} isolcpus=2-3\n")
            );
        }
    }

    #[test]
    fn what_describes_the_shape_stays() {
        for (path, text) in [
            ("/proc/interrupts", "  38:  10 PCI-MSIX-0000:00:03.0 1-edge eth0\n"),
            ("/proc/version", "Linux version 5.4.0.1 web7\n"),
            ("/proc/cmdline", "quiet isolcpus=managed_irq,2-3 console=ttyS0  nohz_full=1-3,5\n"),
            ("/proc/self/cgroup", "0::/mesos/0a1b2c3d-0000-4111-8222-93a4b5c6d7e8\n"),
            ("/sys/x", "\u{e9} 0-3,8\n"),
        ] {
            assert_eq!(masked(path, text, "web7"), None, "{path}");
        }
    }

    #[test]
    fn only_lines_that_are_read_leave() {
        let mounts = "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
                      2 0 0:2 / /data rw - nfs4 nas.corp:/export rw,addr=10.1.2.3\n";
        assert_eq!(masked("/proc/self/mountinfo", mounts, "h").unwrap().lines().count(), 1);
        let conf = "[Manager]\nCPUAffinity=0-1\nDefaultEnvironment=KEY=x\n";
        let out = masked("/etc/systemd/system.conf", conf, "h").unwrap();
        assert_eq!(out, "[Manager]\nCPUAffinity=0-1\n");
        let out = masked("/etc/default/irqbalance", "SECRET=1\nIRQBALANCE_ARGS=x\n", "h").unwrap();
        assert_eq!(out, "IRQBALANCE_ARGS=x\n");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_and_masking_twice_is_masking_once(text in ".{0,60}", path in "(/proc/cmdline|/sys/x)") {
            if let Some(once) = masked(&path, &text, "host7") {
                let twice = masked(&path, &once, "host7");
                proptest::prop_assert!(twice.is_none_or(|twice| twice == once));
            }
        }
    }
}
