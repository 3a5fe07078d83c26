//! What libvirt places of a guest, in the words of virsh(1): the questions, the orders, and what it answers. Only `change` runs
//! virsh.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::procfs::Malformed;
use crate::{CpuSet, ProcessRef};

/// Where virsh finds the libvirt of the system, as opposed to that of one user.
const CONNECTION: &str = "qemu:///system";

/// A part of a guest that libvirt places by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "kebab-case")]
pub enum GuestPart {
    /// A virtual CPU (`vcpupin`).
    Vcpu {
        /// Its number in the guest.
        vcpu: u32,
    },
    /// The monitor's other threads (`emulatorpin`).
    Emulator,
    /// An I/O thread (`iothreadpin`).
    IoThread {
        /// Its number.
        id: u32,
    },
}

/// How long a placement by libvirt lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "kebab-case")]
pub enum PinScope {
    /// As long as the guest runs (`--live`).
    Running {
        /// Its process.
        process: ProcessRef,
    },
    /// From the guest's next start on, in its definition (`--config`).
    Definition,
}

/// One placement that libvirt keeps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GuestPin {
    /// The guest's name, for people: another guest may get it later.
    pub name: String,
    /// What libvirt knows it by.
    pub uuid: String,
    /// What of it.
    pub part: GuestPart,
    /// For how long.
    pub scope: PinScope,
}

impl GuestPin {
    /// The same of the guest's definition.
    #[must_use]
    pub fn in_definition(&self) -> Self {
        Self { scope: PinScope::Definition, ..self.clone() }
    }

    /// Arguments by which virsh reports it; `None` when the ledger that it comes from is damaged: this is no UUID.
    pub fn question(&self) -> Option<Vec<String>> {
        Some(match self.part {
            GuestPart::Vcpu { vcpu } => self.words("vcpupin", &["--vcpu".into(), vcpu.to_string()])?,
            GuestPart::Emulator => self.words("emulatorpin", &[])?,
            // It lists all of them.
            GuestPart::IoThread { .. } => self.words("iothreadinfo", &[])?,
        })
    }

    /// Arguments by which virsh sets it; `None` as with [`question`](Self::question).
    pub fn order(&self, cpus: &CpuSet) -> Option<Vec<String>> {
        let list = ["--cpulist".to_string(), cpus.to_list()];
        let of = |flag: &str, number: u32| [&[flag.into(), number.to_string()], &list[..]].concat();
        match self.part {
            GuestPart::Vcpu { vcpu } => self.words("vcpupin", &of("--vcpu", vcpu)),
            GuestPart::Emulator => self.words("emulatorpin", &list),
            GuestPart::IoThread { id } => self.words("iothreadpin", &of("--iothread", id)),
        }
    }

    fn words(&self, verb: &str, more: &[String]) -> Option<Vec<String>> {
        if !is_uuid(&self.uuid) {
            return None;
        }
        let scope = match self.scope {
            PinScope::Running { .. } => "--live",
            PinScope::Definition => "--config",
        };
        let words = ["--connect", CONNECTION, verb, "--domain", &self.uuid, scope].map(String::from);
        Some([&words, more].concat())
    }

    /// The CPUs in what virsh answers to [`question`](Self::question): a table with a line for each vCPU or I/O thread.
    ///
    /// Errors: the table has no such line, or no list in it.
    pub fn parse_answer(&self, answer: &str) -> Result<CpuSet, Malformed> {
        let key = match self.part {
            GuestPart::Vcpu { vcpu } => vcpu.to_string(),
            GuestPart::Emulator => "*".into(),
            GuestPart::IoThread { id } => id.to_string(),
        };
        let of_line = |line: &str| {
            // Before libvirt 4.10 a colon stood behind the number; it still does behind the star.
            let (first, rest) = line.trim().split_once([' ', '\t'])?;
            (first.trim_end_matches(':') == key).then(|| rest.trim().to_string())
        };
        let found = answer.lines().enumerate().find_map(|(at, line)| Some((at + 1, of_line(line)?)));
        let (line, list) =
            found.ok_or_else(|| Malformed::new(1, answer.trim(), format!("it has no line for {key}")))?;
        match CpuSet::from_list(&list) {
            Ok(cpus) if !cpus.is_empty() => Ok(cpus),
            _ => Err(Malformed::new(line, list, "this is not a list of CPUs")),
        }
    }
}

fn is_uuid(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

impl fmt::Display for GuestPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vcpu { vcpu } => write!(f, "vCPU {vcpu}"),
            Self::Emulator => f.write_str("emulator"),
            Self::IoThread { id } => write!(f, "I/O thread {id}"),
        }
    }
}

impl fmt::Display for GuestPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest {}: {}", self.name, self.part)?;
        match self.scope {
            PinScope::Running { .. } => Ok(()),
            PinScope::Definition => f.write_str(" in its definition"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(part: GuestPart) -> GuestPin {
        let process = ProcessRef { pid: 7, start_time_ticks: 1 };
        let uuid = "f37c6602-cd1f-4a54-94c3-e9fbfe9aff94".to_string();
        GuestPin { name: "db".into(), uuid, part, scope: PinScope::Running { process } }
    }

    const VCPU_1: GuestPart = GuestPart::Vcpu { vcpu: 1 };

    #[test]
    fn words_for_virsh() {
        let words = |pin: &GuestPin| pin.order(&[0, 2].into_iter().collect()).unwrap().join(" ");
        let of = "--connect qemu:///system vcpupin --domain f37c6602-cd1f-4a54-94c3-e9fbfe9aff94";
        let vcpu = pin(VCPU_1);
        assert_eq!(words(&vcpu), format!("{of} --live --vcpu 1 --cpulist 0,2"));
        assert_eq!(words(&vcpu.in_definition()), format!("{of} --config --vcpu 1 --cpulist 0,2"));
        assert!(words(&pin(GuestPart::Emulator)).contains("emulatorpin"));
        let io = pin(GuestPart::IoThread { id: 3 });
        assert!(words(&io).ends_with("--live --iothread 3 --cpulist 0,2"));
        assert!(io.question().unwrap().contains(&"iothreadinfo".to_string()));
        for uuid in
            ["", "--config", "f37c6602-cd1f-4a54-94c3-e9fbfe9aff9", "f37c6602-cd1f-4a54-94c3-e9fbfe9aff9x"]
        {
            let damaged = GuestPin { uuid: uuid.into(), ..pin(VCPU_1) };
            assert_eq!((damaged.question(), damaged.order(&CpuSet::single(0))), (None, None), "{uuid}");
        }
    }

    /// As virsh 9.0 answered, and before 4.10.
    #[test]
    fn tables_of_virsh_and_their_malformed_twins() {
        let parsed = |part, text: &str| pin(part).parse_answer(text).map(|cpus| cpus.to_list());
        let table = " VCPU   CPU Affinity\n----------------------\n 0      0-1\n 1      0,2-3\n 11     1\n\n";
        assert_eq!(parsed(VCPU_1, table).unwrap(), "0,2-3");
        let old = "VCPU: CPU Affinity\n----------------------------------\n   1: 0-3\n\n";
        assert_eq!(parsed(VCPU_1, old).unwrap(), "0-3");
        let emulator = "emulator: CPU Affinity\n----------------------------------\n       *: 0-1\n\n";
        assert_eq!(parsed(GuestPart::Emulator, emulator).unwrap(), "0-1");
        let io = " IOThread ID   CPU Affinity\n-----------------------------\n 1             0-1\n 3             0\n";
        assert_eq!(parsed(GuestPart::IoThread { id: 3 }, io).unwrap(), "0");
        for (part, text) in [
            (GuestPart::Vcpu { vcpu: 2 }, table),
            (GuestPart::IoThread { id: 2 }, io),
            (GuestPart::IoThread { id: 1 }, "No IOThreads found for the domain\n"),
            (VCPU_1, " 1      yy\n"),
            (VCPU_1, " 1      \n"),
            (VCPU_1, ""),
        ] {
            assert!(parsed(part, text).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_answer_panics(text in "( |[0-9*:,-]|\n|VCPU|é){0,30}") {
            let _ = pin(VCPU_1).parse_answer(&text);
        }
    }
}
