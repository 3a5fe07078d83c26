//! What the live kernel shows of its boot parameters where no file of /sys does: facts that are cut out of files which
//! are too long, or tell too much, to be kept whole.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use super::ReadError;

const TIMERS: &str = "/proc/timer_list";
const COMMAND_LINE: &str = "/proc/cmdline";
const PID_NAMESPACE: &str = "/proc/self/ns/pid";

/// The first pid namespace, whose number is fixed (include/linux/proc_ns.h, PROC_PID_INIT_INO).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Lines of the first CPU stand in front; a machine of a thousand CPUs has a thousand times as much.
const TIMERS_BYTES: u64 = 256 << 10;

/// Whether the tick may stop and whether timers are exact, of the first CPU: `nohz 1 highres 1`
/// (kernel/time/timer_list.c; root).
pub(super) fn tick_mode() -> Result<String, ReadError> {
    let mut text = Vec::new();
    File::open(TIMERS)
        .and_then(|file| file.take(TIMERS_BYTES).read_to_end(&mut text))
        .map_err(|e| ReadError::from_io(TIMERS, &e))?;
    parse_tick_mode(&String::from_utf8_lossy(&text))
        .ok_or_else(|| ReadError::malformed(TIMERS, "tells neither .nohz nor .nohz_mode of the first CPU"))
}

/// `.nohz_mode` is 0 where the tick never stops (before 6.8), `.nohz` a flag (from 6.8 on); `.hres_active` a flag.
fn parse_tick_mode(text: &str) -> Option<String> {
    let field = |names: &[&str]| {
        let values = text.lines().filter_map(|line| line.trim().split_once(':'));
        let told = values.into_iter().find(|(name, _)| names.contains(&name.trim()))?;
        told.1.trim().parse::<u32>().ok().map(|n| u32::from(n != 0))
    };
    let [nohz, highres] = [field(&[".nohz_mode", ".nohz"])?, field(&[".hres_active", ".highres"])?];
    Some(format!("nohz {nohz} highres {highres}"))
}

/// Names of the parameters of the boot command line that the kernel did not know and so handed to the first process, as
/// variables or arguments (init/main.c, unknown_bootoption); separated by blanks. Names alone: values can be secret.
/// Process 1 of a container did not get them: there the fact is absent.
pub(super) fn handed_to_init() -> Result<String, ReadError> {
    let namespace = fs::read_link(PID_NAMESPACE).map_err(|e| ReadError::from_io(PID_NAMESPACE, &e))?;
    started_by_kernel(&namespace)?;
    let read = |path: &str| fs::read(path).map_err(|e| ReadError::from_io(path, &e));
    let handed = [read("/proc/1/environ")?, read("/proc/1/cmdline")?];
    let handed: BTreeSet<String> = handed
        .iter()
        .flat_map(|text| text.split(|b| *b == 0))
        .map(|w| String::from_utf8_lossy(w).into_owned())
        .collect();
    let cmdline = String::from_utf8_lossy(&read(COMMAND_LINE)?).into_owned();
    Ok(common(&cmdline, &handed))
}

/// Whether process 1 of this pid namespace is the one that the kernel itself started.
fn started_by_kernel(namespace: &Path) -> Result<(), ReadError> {
    if namespace == Path::new(FIRST_PID_NAMESPACE) {
        return Ok(());
    }
    let why = "process 1 of this container is not the one that the kernel started";
    Err(ReadError::absent(PID_NAMESPACE, why))
}

fn common(cmdline: &str, handed: &BTreeSet<String>) -> String {
    let words = crate::kernel::boot::words(cmdline);
    let names =
        words.iter().filter(|word| handed.contains(*word)).map(|word| word.split('=').next().unwrap_or(word));
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_the_first_cpu_in_both_forms() {
        let old = "cpu: 0\n  .hres_active    : 1\n  .nohz_mode      : 0\ncpu: 1\n  .nohz_mode      : 2\n";
        assert_eq!(parse_tick_mode(old).unwrap(), "nohz 0 highres 1");
        let new = "  .hres_active    : 1\n  .nohz           : 1\n  .highres        : 1\n";
        assert_eq!(parse_tick_mode(new).unwrap(), "nohz 1 highres 1");
        assert_eq!(parse_tick_mode("Timer List Version: v0.9\n"), None);
    }

    #[test]
    fn process_1_of_a_container_is_not_the_kernels() {
        assert!(started_by_kernel(Path::new("pid:[4026531836]")).is_ok());
        let other = started_by_kernel(Path::new("pid:[4026532588]")).unwrap_err();
        assert!(other.is_absent() && other.why.contains("container"), "{other:?}");
    }

    #[test]
    fn what_init_got_of_the_command_line() {
        let handed = ["HOME=/", "TERM=linux", "nohz_ful=2-3", "/init", "nomst"].map(String::from).into();
        assert_eq!(common("quiet nohz_ful=2-3 isolcpus=2 nomst\n", &handed), "nohz_ful nomst");
    }
}
