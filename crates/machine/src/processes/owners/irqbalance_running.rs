//! The irqbalance that runs, and its settings since its start (irqbalance 1.7 and later).

use std::collections::BTreeSet;

use crate::procfs::{Malformed, pid_stat};
use crate::root::irqbalance_socket::{FOLDER, path};
use crate::{ProcessRef, ReadError, Root};

/// Name of its process.
const COMM: &str = "irqbalance";

/// The irqbalance that runs and can be spoken to; `None` where there is none, or where it cannot be seen.
///
/// Version 1.6 dies when its setup is queried while it keeps away from a line. Its socket has two slashes in its
/// name as it was bound, and earlier ones lie in another folder, which distinguishes them.
pub(crate) fn find(root: &Root) -> Option<ProcessRef> {
    let names = root.list(FOLDER).ok()?;
    let pids = names.iter().filter_map(|name| name.strip_prefix(COMM)?.strip_suffix(".sock")?.parse().ok());
    pids.filter(|pid| listens(root, *pid)).find_map(|pid| process(root, pid))
}

/// Whether process `pid` sees a socket of that very name in its network namespace.
fn listens(root: &Root, pid: u32) -> bool {
    let end = format!(" {}", path(pid));
    let mut found = false;
    // A socket that is left over from a process that was killed is not among them.
    let read = root.each_line(format!("/proc/{pid}/net/unix"), |line| found |= line.ends_with(&end));
    read.is_ok() && found
}

fn process(root: &Root, pid: u32) -> Option<ProcessRef> {
    let text = root.read(format!("/proc/{pid}/stat")).ok()?;
    let stat = pid_stat::parse(&text).ok().filter(|stat| stat.comm == COMM && !stat.ended())?;
    Some(ProcessRef { pid, start_time_ticks: stat.start_time_ticks })
}

/// Why [`find`] finds none, in words.
pub(crate) fn why_none(root: &Root) -> String {
    let names = root.list("/proc").unwrap_or_default();
    match super::super::numbers(&names).into_iter().find_map(|pid| process(root, pid)) {
        None => "irqbalance does not run".into(),
        Some(ProcessRef { pid, .. }) => format!(
            "irqbalance (process {pid}) does not listen on {}: it is older than 1.7, or was built without its user interface",
            path(pid)
        ),
    }
}

/// The interrupts that irqbalance `process` leaves alone on request: by `--banirq` when it was started, or since.
///
/// Errors: it has ended, may be asked by root alone, or answers in another form.
pub(crate) fn banned_by(root: &Root, process: &ProcessRef) -> Result<BTreeSet<u32>, ReadError> {
    let fact = format!("{}{}", crate::root::IRQBALANCE, process.pid);
    banned(&root.fact(&fact)?).map_err(|why| ReadError::malformed(&fact, why))
}

/// The interrupts in an answer to `setup`: `SLEEP 10 IRQ 38 LOAD 0 DIFF 0 CLASS 0 BANNED 00000000`.
pub fn banned(answer: &str) -> Result<BTreeSet<u32>, Malformed> {
    let bad = |what: &str, why: &str| Malformed::new(1, what, why);
    let mut words = answer.split_ascii_whitespace();
    let mut irqs = BTreeSet::new();
    let (first, sleep) = (words.next(), words.next());
    if first != Some("SLEEP") || sleep.is_none_or(|s| s.parse::<u32>().is_err()) {
        return Err(bad(answer, "it does not begin with SLEEP and a number"));
    }
    loop {
        match words.next() {
            Some("IRQ") => {
                let irq = words.next().and_then(|irq| irq.parse().ok());
                irqs.insert(irq.ok_or_else(|| bad(answer, "no number stands behind IRQ"))?);
            }
            Some("LOAD" | "DIFF" | "CLASS") => drop(words.next()),
            // The mask of CPUs, which ends the answer.
            Some("BANNED") => return Ok(irqs),
            Some(word) => return Err(bad(word, "such a word is not known")),
            None => return Err(bad(answer, "it ends before BANNED")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scan::tests::stat;
    use super::*;
    use crate::Tree;

    /// As irqbalance 1.9.2 answered.
    const ANSWER: &str =
        "SLEEP 1 IRQ 24 LOAD 0 DIFF 0 CLASS 0 IRQ 40 LOAD 1234 DIFF 7 CLASS 5 BANNED 00000000";

    fn tree(comm: &str, socket: &str) -> Tree {
        let unix = format!(
            "Num       RefCount Protocol Flags    Type St Inode Path\n\
             0000000022412900: 00000002 00000000 00010000 0001 01 52135330 /run/irqbalance/irqbalance81.sock\n\
             000000000224129b: 00000002 00000000 00010000 0001 01 52135331 {socket}\n"
        );
        Tree::new()
            .file("/run/irqbalance/irqbalance812.sock", "")
            .file("/proc/812/net/unix", unix)
            .file("/proc/812/stat", stat(812, comm, 1, 0))
    }

    #[test]
    fn only_one_that_can_be_asked_without_harm_is_found() {
        let found = |comm, socket| find(&Root::from_tree(tree(comm, socket)));
        let process = ProcessRef { pid: 812, start_time_ticks: 81200 };
        assert_eq!(found("irqbalance", "/run/irqbalance/irqbalance812.sock"), Some(process));
        assert_eq!(found("irqbalance", "/run/irqbalance//irqbalance812.sock"), None, "version 1.6");
        assert_eq!(found("irqbalance", "/run/irqbalance/irqbalance8.sock"), None, "left over");
        assert_eq!(found("nginx", "/run/irqbalance/irqbalance812.sock"), None, "a reused number");
        assert_eq!(find(&Root::from_tree(Tree::new())), None);
    }

    #[test]
    fn why_there_is_none() {
        let old = Root::from_tree(tree("irqbalance", ""));
        assert!(why_none(&old).contains("older than 1.7"), "{}", why_none(&old));
        assert_eq!(why_none(&Root::from_tree(Tree::new())), "irqbalance does not run");
    }

    #[test]
    fn answers_as_they_are_and_no_others() {
        assert_eq!(banned(ANSWER).unwrap(), BTreeSet::from([24, 40]));
        assert_eq!(banned("SLEEP 10 BANNED 00000000,00000000").unwrap(), BTreeSet::new());
        for (text, why) in [
            ("", "begin with SLEEP"),
            ("SLEEP x", "begin with SLEEP"),
            ("SLEEP 10 IRQ 24 LOAD", "before BANNED"),
            ("SLEEP 10 IRQ BANNED 0", "no number"),
            ("SLEEP 10 TYPE 0 BANNED 0", "not known"),
        ] {
            assert!(banned(text).unwrap_err().why.contains(why), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_answer_panics(text in "(SLEEP |IRQ |LOAD |BANNED |[0-9 ]|é){0,20}") {
            let _ = banned(&text);
        }
    }
}
