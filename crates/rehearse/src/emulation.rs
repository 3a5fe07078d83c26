//! Whether the CPUs of a guest may be emulated side by side, each by a thread of its own.

use std::process::Command;

use crate::qemu;

/// The first version that is known to emulate them side by side without harm. With 7.2 a CPU can go on in a translation of code that
/// another CPU has changed meanwhile: it meets a breakpoint that is not there any more, again and again, with interrupts off. Linux changes
/// its code whenever a trace point is first used or a key is switched: 4 of 170 boots hung, and 1 of 6 guests in which pinwise watched a
/// busy CPU; of 90 boots with 10.0 none did, and with 7.2 and one thread for all CPUs none.
const SIDE_BY_SIDE_FROM: u32 = 10;

/// How a guest's CPUs are emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emulation {
    /// One after the other, by one thread.
    InTurn,
    /// Each by a thread of its own.
    SideBySide,
}

impl Emulation {
    /// What the QEMU that is there can be trusted with. Asking it takes 0.3 s.
    pub fn of_this_qemu() -> Self {
        let version = Command::new(qemu::PROGRAM).arg("--version").output();
        version.map_or(Self::InTurn, |output| Self::of_version(&String::from_utf8_lossy(&output.stdout)))
    }

    /// By what `qemu-system-x86_64 --version` prints; in turn where that is unknown.
    fn of_version(text: &str) -> Self {
        let number = text.split_once("version ").and_then(|(_, rest)| rest.split(['.', ' ']).next());
        match number.and_then(|major| major.parse::<u32>().ok()) {
            Some(major) if major >= SIDE_BY_SIDE_FROM => Self::SideBySide,
            _ => Self::InTurn,
        }
    }

    /// The value of QEMU's option `-accel`.
    pub fn option(self) -> &'static str {
        match self {
            Self::InTurn => "tcg,thread=single",
            Self::SideBySide => "tcg,thread=multi",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_qemu_emulates_one_cpu_after_the_other() {
        let of = Emulation::of_version;
        assert_eq!(of("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\n"), Emulation::InTurn);
        assert_eq!(of("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\n"), Emulation::SideBySide);
        assert_eq!(of("QEMU emulator version 9.2"), Emulation::InTurn);
        assert_eq!(of(""), Emulation::InTurn);
    }
}
