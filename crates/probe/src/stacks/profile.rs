//! What a server does while it has a CPU, by function.

use std::collections::BTreeMap;

use machine::Missing;
use serde::{Deserialize, Serialize};

use super::frames::Frames;

/// Functions of a kind that a profile keeps: those with most samples. A list of so many says nothing of what comes after its last.
pub const FUNCTIONS_KEPT: usize = 12;

/// Where the kernel is entered by an interrupt of the CPU's timer (arch/x86/entry): what is further in is the interrupt, and the program
/// that sees it.
const SAMPLED_BY: &str = "asm_sysvec_apic_timer_interrupt";

/// Frames of the kernel when an interrupt ends: softirqs that run from there are not the thread's own work.
const INTERRUPT_ENDS: [&str; 3] = ["irq_exit_rcu", "__irq_exit_rcu", "irq_exit"];

/// Frames of the kernel where a page fault begins, on x86 and on ARM.
const PAGE_FAULTS: [&str; 3] = ["asm_exc_page_fault", "exc_page_fault", "do_page_fault"];

/// What stands before the name of a system call where its function begins (arch/*/include/asm/syscall_wrapper.h), or where that one goes on
/// at once, so that compilers leave no frame of the first.
const CALLS: [&str; 7] =
    ["__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_", "__sys_", "ksys_"];

/// In how many samples a function was the one that ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampled {
    /// Its name; that of its file in brackets where it has none.
    pub name: String,
    /// Samples.
    pub samples: u64,
}

/// Samples of a server's threads while they had a CPU: at interrupts of the CPU's own timer, at most one in 3.5 ms on a CPU. Each stands for as
/// much of their CPU time as any other. Source: trace point local_timer_entry, with stacks taken in the kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Samples.
    pub samples: u64,
    /// Those in the kernel on the server's behalf.
    pub in_kernel: u64,
    /// Those in softirqs that came with an interrupt: no work of its own.
    pub in_interrupts: u64,
    /// Of those in the kernel, those in page faults.
    pub in_page_faults: u64,
    /// Of those in the kernel, those in system calls, the most frequent first; at most 12 calls.
    pub calls: Vec<Sampled>,
    /// Functions in user space, the most frequent first; at most 12.
    pub user: Vec<Sampled>,
    /// The same in the kernel.
    pub kernel: Vec<Sampled>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

/// Samples by name while they are added up.
#[derive(Debug, Default)]
struct Sums(BTreeMap<String, u64>);

impl Sums {
    fn add(&mut self, name: &str, samples: u64) {
        match self.0.get_mut(name) {
            Some(sum) => *sum = sum.saturating_add(samples),
            None => drop(self.0.insert(name.to_string(), samples)),
        }
    }

    /// The most frequent ones.
    fn top(self) -> Vec<Sampled> {
        let mut all: Vec<Sampled> =
            self.0.into_iter().map(|(name, samples)| Sampled { name, samples }).collect();
        all.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.name.cmp(&b.name)));
        all.truncate(FUNCTIONS_KEPT);
        all
    }
}

impl Profile {
    /// Of stacks: frames in the kernel and in user space, from the outermost caller on, and how often they were met.
    pub(super) fn of(stacks: impl Iterator<Item = (Frames, Frames, u64)>) -> Self {
        let mut profile = Self::default();
        let mut unplaced = 0u64;
        let (mut calls, mut user, mut kernel) = (Sums::default(), Sums::default(), Sums::default());
        for (of_kernel, of_user, samples) in stacks {
            let Some(of_kernel) = interrupted(known(&of_kernel)) else {
                unplaced = unplaced.saturating_add(samples);
                continue;
            };
            profile.samples = profile.samples.saturating_add(samples);
            let Some(innermost) = of_kernel.last() else {
                if let Some(function) = known(&of_user).last() {
                    user.add(function, samples);
                }
                continue;
            };
            if of_kernel.iter().any(|frame| INTERRUPT_ENDS.contains(&frame.as_str())) {
                profile.in_interrupts = profile.in_interrupts.saturating_add(samples);
                continue;
            }
            profile.in_kernel = profile.in_kernel.saturating_add(samples);
            kernel.add(innermost, samples);
            match entry(of_kernel) {
                Some(Entry::Call(name)) => calls.add(name, samples),
                Some(Entry::PageFault) => {
                    profile.in_page_faults = profile.in_page_faults.saturating_add(samples);
                }
                None => {}
            }
        }
        if unplaced > 0 {
            let why =
                format_args!("the kernel's stack does not show what was interrupted: {unplaced} samples");
            profile.missing.push(Missing::new("some samples", why));
        }
        Self { calls: calls.top(), user: user.top(), kernel: kernel.top(), ..profile }
    }

    /// Those of its own work: all but those of interrupts.
    pub fn own(&self) -> u64 {
        self.samples.saturating_sub(self.in_interrupts)
    }
}

fn known(frames: &Frames) -> &[String] {
    match frames {
        Frames::Known(names) => names,
        Frames::NotTaken | Frames::Lost => &[],
    }
}

/// Frames of the kernel that were interrupted: none where the thread was in user space; `None` where that is not known.
pub(super) fn interrupted(frames: &[String]) -> Option<&[String]> {
    let by = frames.iter().rposition(|frame| frame == SAMPLED_BY)?;
    Some(&frames[..by])
}

/// How a thread came into the kernel.
enum Entry<'a> {
    Call(&'a str),
    PageFault,
}

/// By the outermost frame that says so.
fn entry(frames: &[String]) -> Option<Entry<'_>> {
    frames.iter().find_map(|frame| {
        if PAGE_FAULTS.contains(&frame.as_str()) {
            return Some(Entry::PageFault);
        }
        CALLS.iter().find_map(|prefix| frame.strip_prefix(prefix)).map(Entry::Call)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(names: &[&str]) -> Frames {
        Frames::Known(names.iter().map(|name| name.to_string()).collect())
    }

    /// Frames of the kernel with those of the interrupt further in.
    fn interrupted_in(names: &[&str]) -> Frames {
        let interrupt =
            [SAMPLED_BY, "sysvec_apic_timer_interrupt", "__traceiter_local_timer_entry", "bpf_prog_7"];
        frames(&[names, &interrupt].concat())
    }

    fn sampled(profile: &[Sampled]) -> Vec<(&str, u64)> {
        profile.iter().map(|sampled| (sampled.name.as_str(), sampled.samples)).collect()
    }

    #[test]
    fn samples_are_sorted_by_where_they_were_and_how_they_came_there() {
        let call =
            ["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "__x64_sys_sendto", "tcp_sendmsg", "copy"];
        let fault_in_call =
            ["do_syscall_64", "ksys_read", "vfs_read", "copy_to_user", "asm_exc_page_fault", "clear_page"];
        let stacks = [
            (interrupted_in(&[]), frames(&["main", "parse"]), 5),
            (interrupted_in(&[]), frames(&["[libc.so.6]"]), 2),
            (interrupted_in(&call), frames(&["main", "send"]), 4),
            (interrupted_in(&fault_in_call), frames(&[]), 2),
            (interrupted_in(&["asm_exc_page_fault", "exc_page_fault", "clear_page"]), frames(&["main"]), 1),
            (
                interrupted_in(&["asm_common_interrupt", "irq_exit_rcu", "handle_softirqs", "net_rx_action"]),
                frames(&["main"]),
                3,
            ),
            (Frames::Lost, Frames::Lost, 1),
        ];
        let profile = Profile::of(stacks.into_iter());
        assert_eq!((profile.samples, profile.own(), profile.missing.len()), (17, 14, 1));
        assert_eq!((profile.in_kernel, profile.in_interrupts, profile.in_page_faults), (7, 3, 1));
        assert_eq!(sampled(&profile.calls), [("sendto", 4), ("read", 2)]);
        assert_eq!(sampled(&profile.user), [("parse", 5), ("[libc.so.6]", 2)]);
        assert_eq!(sampled(&profile.kernel), [("copy", 4), ("clear_page", 3)]);
    }

    #[test]
    fn the_most_frequent_are_kept_and_sums_have_an_end() {
        let many =
            (0..40).map(|at| (interrupted_in(&[]), frames(&[&format!("f{at:02}")]), u64::MAX - 50 + at));
        let profile = Profile::of(many);
        assert_eq!((profile.samples, profile.user.len()), (u64::MAX, 12));
        assert_eq!((profile.user[0].name.as_str(), profile.user[11].name.as_str()), ("f39", "f28"));
        assert_eq!(Profile::of(std::iter::empty()), Profile::default());
    }
}
