//! The frames of a stack.

/// Frames of one side of a stack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Frames {
    /// Names of functions, from the outermost caller to the innermost function. Empty: there are none on this side, as of a thread of the
    /// kernel in user space.
    Known(Vec<String>),
    /// It has a CPU; or it lost it although it could run on, and where it was then is chance; or it left it before counting began.
    NotTaken,
    /// It was not kept: there were too many.
    Lost,
}

/// Where the kernel gives a CPU away (kernel/sched/core.c): what is further in is the switch itself, and the program that sees it.
const GIVES_AWAY: &str = "__schedule";

/// Leaves out what is the same in each stack of the kernel: all further in than its `__schedule`. `innermost_first` as the kernel reports it.
pub(super) fn without_the_switch(innermost_first: &[String]) -> &[String] {
    let gives = innermost_first.iter().rposition(|name| name == GIVES_AWAY);
    gives.map_or(innermost_first, |at| &innermost_first[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_itself_is_left_out() {
        let stack = ["bpf_prog_1", "__traceiter_sched_switch", "__schedule", "schedule", "futex_do_wait"]
            .map(String::from);
        assert_eq!(without_the_switch(&stack), &stack[3..]);
        assert_eq!(without_the_switch(&stack[3..]), &stack[3..], "it was not reported");
        assert_eq!(without_the_switch(&[]), &[] as &[String]);
    }
}
