//! The build configuration of the kernel, where it can be read.

use std::io::Read;

use crate::{ReadError, Root};

/// A configuration of the kernel is about 300 KiB; one that unpacks to more is none.
const MOST_BYTES: u64 = 8 << 20;

/// So much of it is held at a time.
const PIECE_BYTES: usize = 32 << 10;

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
#[derive(Default)]
pub(super) struct Config([Option<String>; OPTIONS.len()]);

impl Config {
    /// From /boot/config-RELEASE or /proc/config.gz; the error, in words, says why neither can be read.
    pub(super) fn read(root: &Root, release: Option<&str>) -> Result<Self, String> {
        let packed = "/proc/config.gz";
        let unpack = |bytes: Vec<u8>| Self::unpack(&bytes).map_err(|e| ReadError::malformed(packed, e));
        let first = match root.read_bytes(packed).and_then(unpack) {
            Ok(config) => return Ok(config),
            Err(e) => e,
        };
        // A release is a file name's ending here: one with a slash would name another folder.
        let Some(release) = release.filter(|release| !release.contains('/')) else {
            return Err(first.to_string());
        };
        let text =
            root.read(format!("/boot/config-{release}")).map_err(|second| format!("{first}; {second}"))?;
        let mut config = Self::default();
        config.take(text.as_bytes());
        Ok(config)
    }

    /// From whole lines; of several for an option the last one counts.
    fn take(&mut self, lines: &[u8]) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', lines).chain([lines.len()]) {
            let line = lines[start..end].trim_ascii();
            start = end + 1;
            // Half of the lines are remarks on what is not set.
            if !line.starts_with(b"CONFIG_") {
                continue;
            }
            let Some(equals) = memchr::memchr(b'=', line) else { continue };
            if let Some(at) = OPTIONS.iter().position(|option| option.as_bytes() == &line[..equals]) {
                self.0[at] = Some(String::from_utf8_lossy(line[equals + 1..].trim_ascii()).into_owned());
            }
        }
    }

    /// From a text that is unpacked while it is read: held whole it would take more memory than all else in a map.
    fn unpack(packed: &[u8]) -> std::io::Result<Self> {
        let mut text = flate2::bufread::GzDecoder::new(packed).take(MOST_BYTES);
        let mut config = Self::default();
        let mut piece = vec![0; PIECE_BYTES];
        let mut held = 0;
        loop {
            let read = text.read(&mut piece[held..])?;
            held += read;
            // A line that fills the piece is none of the kernel's, and is cut.
            let lines = match memchr::memrchr(b'\n', &piece[..held]) {
                Some(last) if read > 0 => last + 1,
                None if read > 0 && held < piece.len() => 0,
                _ => held,
            };
            config.take(&piece[..lines]);
            piece.copy_within(lines..held, 0);
            held -= lines;
            if read == 0 {
                return Ok(config);
            }
        }
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
        let mut config = Config::default();
        config.take(b"CONFIG_HZ=100\n CONFIG_PREEMPT=y\r\nCONFIG_HZ_1=\nCONFIG_HZ=250");
        assert_eq!((config.number("CONFIG_HZ"), config.is_set("CONFIG_PREEMPT")), (Ok(250), true));
        assert_eq!(config.value("CONFIG_PREEMPT_RT"), None);

        let why = Config::read(&Root::from_tree(Tree::new()), Some("6")).err().unwrap();
        assert!(why.contains("/proc/config.gz") && why.contains("/boot/config-6"), "{why}");
        assert!(Config::read(&Root::from_tree(Tree::new()), Some("../x")).is_err());
    }

    #[test]
    fn lines_that_lie_across_two_pieces_are_whole() {
        let remarks = "# CONFIG_SOME_OPTION is not set\n".repeat(2 * PIECE_BYTES / 32 - 1);
        for shift in 0..40 {
            let text = format!("{}\n{remarks}CONFIG_HZ=250\nCONFIG_PREEMPT=y", "#".repeat(shift));
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(text.as_bytes()).unwrap();
            let config = Config::unpack(&packed.finish().unwrap()).unwrap();
            assert_eq!(
                (config.number("CONFIG_HZ"), config.is_set("CONFIG_PREEMPT")),
                (Ok(250), true),
                "{shift}"
            );
        }
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&b"CONFIG_HZ=1".repeat(PIECE_BYTES)).unwrap();
        let mut packed = packed.finish().unwrap();
        assert!(Config::unpack(&packed).is_ok(), "a line without an end");
        packed.truncate(packed.len() - 9);
        assert!(Config::unpack(&packed).is_err(), "cut short");
    }
}
