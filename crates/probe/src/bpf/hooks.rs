//! The programs and the trace points at which they run.

/// A program, and what is not known without it.
pub(super) struct Hook {
    pub(super) program: &'static str,
    pub(super) trace_point: &'static str,
    /// Said as missing where the trace point is not there; none for those that are a matter of the architecture.
    pub(super) without: Option<&'static str>,
}

const fn hook(name: &'static str, without: Option<&'static str>) -> Hook {
    Hook { program: name, trace_point: name, without }
}

/// Who is born. Without this and the next nothing is known: they fail the loading.
pub(super) const BIRTHS: &[Hook] = &[hook("sched_process_fork", None)];

/// Who waits for which CPU.
pub(super) const RUN_QUEUES: &[Hook] =
    &[hook("sched_wakeup", None), hook("sched_wakeup_new", None), hook("sched_migrate_task", None)];

/// Who is woken.
pub(super) const WOKEN: &[Hook] = &[hook("sched_wakeup", None), hook("sched_wakeup_new", None)];

/// Who wakes which thread.
pub(super) const WAKES: &[Hook] = &[hook("sched_waking", None)];

/// The same where only the target's threads are asked about.
pub(super) const WAKERS: &[Hook] = &[hook("sched_waking", Some("who woke the threads"))];

/// Interrupts of a CPU's own timer.
pub(super) const TIMERS: &[Hook] = &[hook("local_timer_entry", None)];

/// What happens to a server's sockets.
pub(super) const REQUESTS: &[Hook] = &[
    hook("inet_sock_set_state", None),
    hook("sk_data_ready", None),
    hook("sock_recv_length", None),
    hook("sock_send_length", None),
];

/// sched_switch in both forms: 5.18 gave it a fourth argument.
pub(super) const SWITCH: &[&str] = &["sched_switch", "sched_switch_of_three"];

pub(super) const INTERRUPTS: &[Hook] = &[
    hook("irq_handler_entry", Some("interrupts of devices")),
    hook("irq_handler_exit", Some("interrupts of devices")),
    hook("nmi_handler", Some("times of NMIs")),
    hook("local_timer_entry", Some("times of timer interrupts (trace points irq_vectors are on x86 only)")),
    hook("local_timer_exit", None),
    hook(
        "reschedule_entry",
        Some("times of inter-processor interrupts (trace points irq_vectors are on x86 only)"),
    ),
    hook("reschedule_exit", None),
    hook("call_function_entry", None),
    hook("call_function_exit", None),
    hook("call_function_single_entry", None),
    hook("call_function_single_exit", None),
    hook("irq_work_entry", None),
    hook("irq_work_exit", None),
    hook("x86_platform_ipi_entry", None),
    hook("x86_platform_ipi_exit", None),
    hook("thermal_apic_entry", None),
    hook("thermal_apic_exit", None),
    hook("error_apic_entry", None),
    hook("error_apic_exit", None),
    hook("spurious_apic_entry", None),
    hook("spurious_apic_exit", None),
    hook("threshold_apic_entry", None),
    hook("threshold_apic_exit", None),
    hook("deferred_error_apic_entry", None),
    hook("deferred_error_apic_exit", None),
];

pub(super) const NAMES_AND_IDLING: &[Hook] = &[
    hook("sched_process_exec", Some("new names of threads after an exec")),
    hook("cpu_idle", Some("C-states at wake-up")),
];

pub(super) const PAGE_FAULTS: &[Hook] =
    &[hook("page_fault_user", Some("page faults by thread (trace points exceptions are on x86 only)"))];

pub(super) const FREQUENCIES: &[Hook] = &[hook("cpu_frequency", Some("frequencies"))];

/// What is only summed up.
pub(super) const SUMS: &[Hook] = &[
    hook("mm_vmscan_direct_reclaim_begin", Some("direct reclaim of memory")),
    hook("mm_vmscan_direct_reclaim_end", None),
    hook("mm_vmscan_memcg_reclaim_begin", Some("reclaim for the limit of a cgroup")),
    hook("mm_vmscan_memcg_reclaim_end", None),
    hook("tick_stop", Some("why ticks did not stop")),
    hook("hrtimer_expire_entry", Some("functions of timers")),
    hook("hrtimer_expire_exit", None),
    hook("timer_expire_entry", None),
    hook("timer_expire_exit", None),
    hook("csd_function_entry", Some("functions of remote calls (6.5 and later)")),
    hook("csd_function_exit", None),
    hook("workqueue_execute_start", Some("work items")),
];

/// On PREEMPT_RT softirqs run in threads that can be preempted: they are seen as those threads.
pub(super) const SOFTIRQS: &[Hook] = &[hook("softirq_entry", Some("softirqs")), hook("softirq_exit", None)];
