//! What the kernel refuses because a thread is another user's.

use std::io;

use machine::{Act, Fault};

use crate::acts::{operation, refusal};
use crate::executor::found;
use crate::kernel::Kernel;

/// The refusal of an act on a thread that is another user's, where this process has no CAP_SYS_NICE. `None` where the act needs no such
/// right, or whose the thread is cannot be seen.
pub(super) fn refusal_by_owner(kernel: &dyn Kernel, act: &Act) -> Option<Fault> {
    let operation = operation(act);
    let (thread, rule) = operation.owner_rule(kernel)?;
    let users = kernel.users(thread.pid, thread.tid).ok()?;
    if rule(kernel.own_users(), users) || kernel.may_raise_priority() {
        return None;
    }
    // What is found before the act is performed may end it with another sentence.
    found(kernel, act).ok()?;
    Some(refusal(&*operation, &io::Error::from_raw_os_error(libc::EPERM)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use machine::{Class, CpuSet, IoPriority, ProcessRef, Scheduling, ThreadRef, UtilClamp};

    use super::*;
    use crate::executor::Hand;
    use crate::kernel::{EmulatedKernel, Processes, Users};

    const OURS: Users = Users { real: 1000, effective: 1000 };
    const THEIRS: Users = Users { real: 107, effective: 107 };
    const SERVER: u32 = 50;

    /// A caller of ours without CAP_SYS_NICE, and acts on a process of these users.
    fn on_process_of(users: Users) -> (EmulatedKernel, [Act; 4]) {
        let kernel = EmulatedKernel::new();
        let own = kernel.own().unwrap();
        let ProcessRef { pid, start_time_ticks } = kernel.add_process(SERVER, 1);
        kernel.alter(own.pid, |thread| thread.users = OURS);
        kernel.alter(pid, |thread| thread.users = users);
        kernel.drop_privilege();
        let thread = ThreadRef { pid, tid: pid, start_time_ticks };
        let acts = [
            Act::SetAffinity { thread, cpus: CpuSet::single(1) },
            Act::SetScheduling { thread, scheduling: Scheduling::Other { nice: -5 } },
            Act::SetUtilClamp { thread, clamp: UtilClamp { min: 512, max: 1024 } },
            Act::SetIoPriority { thread, priority: IoPriority::BestEffort { level: 1 } },
        ];
        (kernel, acts)
    }

    fn are_foreseen(kernel: &EmulatedKernel, acts: &[Act; 4]) -> [bool; 4] {
        acts.each_ref().map(|act| refusal_by_owner(kernel, act).is_some())
    }

    #[test]
    fn what_is_foreseen_of_a_thread_of_another_user_is_what_the_act_itself_meets() {
        let (kernel, acts) = on_process_of(THEIRS);
        let dir = tempfile::tempdir().unwrap();
        let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), "test").unwrap();
        for act in &acts {
            let foreseen = refusal_by_owner(&kernel, act).unwrap();
            assert_eq!(foreseen.class, Class::NotPermitted);
            assert_eq!(hand.perform(act).unwrap_err(), foreseen, "{act:?}");
        }
    }

    #[test]
    fn a_thread_of_the_same_user_is_ours_to_set() {
        for users in [OURS, Users { real: 1000, effective: 0 }] {
            let (kernel, acts) = on_process_of(users);
            assert_eq!(are_foreseen(&kernel, &acts), [false; 4]);
            let dir = tempfile::tempdir().unwrap();
            let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), "test").unwrap();
            acts.iter().for_each(|act| assert!(hand.perform(act).unwrap().took_effect, "{act:?}"));
        }
        // The rank of disk requests goes by the user that started it.
        let (kernel, acts) = on_process_of(Users { real: 107, effective: 1000 });
        assert_eq!(are_foreseen(&kernel, &acts), [false, false, false, true]);
    }

    #[test]
    fn nothing_is_foreseen_with_the_right_or_where_another_refusal_comes_first() {
        let (kernel, acts) = on_process_of(THEIRS);
        kernel.alter(SERVER, |thread| thread.is_bound = true);
        assert_eq!(are_foreseen(&kernel, &acts), [false, true, true, true]);
        kernel.remove_thread(SERVER);
        assert_eq!(are_foreseen(&kernel, &acts), [false; 4]);
        // A nice value that could not be put back ends the act before the kernel is asked.
        let (kernel, acts) = on_process_of(THEIRS);
        let Act::SetScheduling { thread, .. } = acts[1] else { panic!("{:?}", acts[1]) };
        let lower = Act::SetScheduling { thread, scheduling: Scheduling::Other { nice: 5 } };
        assert!(refusal_by_owner(&kernel, &lower).is_none());
        assert!(found(&kernel, &lower).unwrap_err().cause.contains("could not be undone"));
        let file = Act::WriteFile { path: "/proc/sys/vm/swappiness".into(), value: "1".into(), netns: None };
        assert!(refusal_by_owner(&kernel, &file).is_none());
        let privileged = EmulatedKernel::new();
        privileged.set_state(kernel.state());
        assert_eq!(are_foreseen(&privileged, &acts), [false; 4]);
    }
}
