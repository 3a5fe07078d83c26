//! The build configuration of the kernel, where it can be read.

use std::io::Read;

use crate::{ReadError, Root};

/// A configuration of the kernel is about 300 KiB; one that unpacks to more is none.
const MOST_BYTES: u64 = 8 << 20;

/// The options that are asked for. A configuration has some ten thousand: to keep them all takes longer than the rest of
/// the kernel takes to read.
const OPTIONS: [&str; 9] = [
    "CONFIG_HZ",
    "CONFIG_IRQ_TIME_ACCOUNTING",
    "CONFIG_NO_HZ_FULL",
    "CONFIG_PREEMPT",
    "CONFIG_PREEMPT_LAZY",
    "CONFIG_PREEMPT_NONE",
    "CONFIG_PREEMPT_RT",
    "CONFIG_PREEMPT_VOLUNTARY",
    "CONFIG_VIRT_CPU_ACCOUNTING_NATIVE",
];

/// What each option of [`OPTIONS`] is set to, in the same order; `None` where it is not set.
pub(super) struct Config([Option<String>; OPTIONS.len()]);

impl Config {
    /// From /boot/config-RELEASE or /proc/config.gz; the error, in words, says why neither can be read.
    pub(super) fn read(root: &Root, release: Option<&str>) -> Result<Self, String> {
        let packed = "/proc/config.gz";
        let first = match root.read_bytes(packed).and_then(|bytes| unpack(packed, &bytes)) {
            Ok(text) => return Ok(Self::parse(&text)),
            Err(e) => e,
        };
        // A release is a file name's ending here: one with a slash would name another folder.
        let Some(release) = release.filter(|release| !release.contains('/')) else {
            return Err(first.to_string());
        };
        let text =
            root.read(format!("/boot/config-{release}")).map_err(|second| format!("{first}; {second}"))?;
        Ok(Self::parse(&text))
    }

    /// Of several lines for an option the last one counts.
    fn parse(text: &str) -> Self {
        let mut set = [const { None }; OPTIONS.len()];
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
            let line = text[start..end].trim_ascii_start();
            start = end + 1;
            // Half of the lines are remarks on what is not set.
            if !line.starts_with("CONFIG_") {
                continue;
            }
            let Some((name, value)) = line.split_once('=') else { continue };
            if let Some(at) = OPTIONS.iter().position(|option| *option == name) {
                set[at] = Some(value.trim().to_string());
            }
        }
        Self(set)
    }

    /// What one of [`OPTIONS`] is set to.
    fn value(&self, name: &str) -> Option<&str> {
        let at = OPTIONS.iter().position(|option| *option == name);
        debug_assert!(at.is_some(), "{name} is none of the options that are kept");
        self.0[at?].as_deref()
    }

    /// Whether an option is built in.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.value(name) == Some("y")
    }

    /// A number; the error says, in words, that it is absent or none.
    pub(super) fn number(&self, name: &str) -> Result<u32, String> {
        let value = self.value(name).ok_or_else(|| format!("the kernel's configuration has no {name}"))?;
        value.parse().map_err(|e| format!("{name}={value}: {e}"))
    }

    /// Whether interrupt time is accounted apart from the task that was interrupted.
    pub(super) fn irq_time_is_apart(&self) -> bool {
        // VIRT_CPU_ACCOUNTING_GEN alone does not: its vtime_account_irq() is empty (include/linux/vtime.h).
        ["CONFIG_IRQ_TIME_ACCOUNTING", "CONFIG_VIRT_CPU_ACCOUNTING_NATIVE"]
            .iter()
            .any(|name| self.is_set(name))
    }
}

fn unpack(path: &str, bytes: &[u8]) -> Result<String, ReadError> {
    // Such a text shrinks to a quarter or a fifth.
    let mut text = String::with_capacity(bytes.len() * 5);
    let unpacked = flate2::bufread::GzDecoder::new(bytes).take(MOST_BYTES).read_to_string(&mut text);
    unpacked.map_err(|e| ReadError::malformed(path, e))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use std::io::Write;

    #[test]
    fn packed_plain_damaged_and_absent() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed
            .write_all(b"CONFIG_HZ=1000\nCONFIG_IRQ_TIME_ACCOUNTING=y\n# CONFIG_PREEMPT is not set\n")
            .unwrap();
        let root = Root::from_tree(Tree::new().file("/proc/config.gz", packed.finish().unwrap()));
        let config = Config::read(&root, None).unwrap();
        assert_eq!(config.number("CONFIG_HZ"), Ok(1000));
        assert!(config.irq_time_is_apart() && !config.is_set("CONFIG_PREEMPT"));
        assert!(config.number("CONFIG_PREEMPT_RT").unwrap_err().contains("CONFIG_PREEMPT_RT"));

        let damaged =
            Tree::new().file("/proc/config.gz", "CONFIG_HZ=100").file("/boot/config-6", "CONFIG_HZ=x\n");
        let config = Config::read(&Root::from_tree(damaged), Some("6")).unwrap();
        assert!(config.number("CONFIG_HZ").unwrap_err().contains("CONFIG_HZ=x"));
        let config = Config::parse("CONFIG_HZ=100\n CONFIG_PREEMPT=y\r\nCONFIG_HZ_1=\nCONFIG_HZ=250");
        assert_eq!((config.number("CONFIG_HZ"), config.is_set("CONFIG_PREEMPT")), (Ok(250), true));
        assert_eq!(config.value("CONFIG_PREEMPT_RT"), None);

        let why = Config::read(&Root::from_tree(Tree::new()), Some("6")).err().unwrap();
        assert!(why.contains("/proc/config.gz") && why.contains("/boot/config-6"), "{why}");
        assert!(Config::read(&Root::from_tree(Tree::new()), Some("../x")).is_err());
    }
}
