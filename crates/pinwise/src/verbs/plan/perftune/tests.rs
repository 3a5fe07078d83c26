use machine::Tree;

use super::*;

fn root() -> Root {
    let queue = |name: &str| format!("/sys/class/net/eth0/queues/{name}");
    Root::from_tree(
        Tree::new()
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n")
            .file("/proc/irq/38/smp_affinity_list", "0-3\n")
            .file("/proc/sys/net/core/rps_sock_flow_entries", "0\n")
            .file(&queue("rx-0/rps_cpus"), "0\n")
            .file(&queue("rx-0/rps_flow_cnt"), "0\n")
            .file(&queue("rx-1/rps_cpus"), "0\n")
            .file(&queue("rx-1/rps_flow_cnt"), "0\n")
            .file(&queue("rx-2/rps_cpus"), "0\n")
            .file(&queue("rx-2/rps_flow_cnt"), "0\n")
            .file(&queue("tx-0/xps_cpus"), "0\n"),
    )
}

fn settings(advice: &Advice) -> Vec<String> {
    let one = |planned: &machine::Planned| format!("{} {} {}", planned.knob, planned.target, planned.value);
    advice.plan.settings.iter().map(one).collect()
}

#[test]
fn a_dry_run_is_taken_over_line_by_line() {
    let text = "# irqbalance is not running\nethtool -L eth0 rx 2\n# Distributing all IRQs\n\
                echo 00000002 > /proc/irq/38/smp_affinity\necho 1 > /proc/irq/99/smp_affinity\n\
                echo 0000000f > /sys/class/net/eth0/queues/rx-0/rps_cpus\n\
                sysctl net.core.rps_sock_flow_entries\nsysctl -w net.core.rps_sock_flow_entries=32768\n\
                echo 10922 > /sys/class/net/eth0/queues/rx-0/rps_flow_cnt\nethtool -K eth0 ntuple off\n\
                echo 0x00000003 > /sys/class/net/eth0/queues/tx-0/xps_cpus\n\
                echo 1 > /sys/class/net/eth9/queues/rx-0/rps_cpus\n\
                echo 4096 > /proc/sys/net/core/somaxconn\necho 1 2 3 > /proc/sys/net/ipv4/tcp_mem\n\
                echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource\n\
                echo IRQBALANCE_ARGS=\" --banirq=38\" | tee -a /etc/default/irqbalance\n\
                systemctl try-restart irqbalance\necho 'x\nreboot now\n";
    let advice = advice(&root(), text);
    assert_eq!(
        settings(&advice),
        [
            "irq-affinity 38 1",
            "rps-cpus eth0/rx-0 0-3",
            "rps-sock-flow-entries machine 32768",
            "rps-flow-count eth0/rx-0 16384",
            "xps-cpus eth0/tx-0 0-1",
        ]
    );
    assert_eq!(advice.plan.settings[0].before.as_deref(), Some("0-3"));
    let left = advice.not_taken_over.join("\n");
    let parts = [
        "-L eth0",
        "/proc/irq/99",
        "ntuple",
        "eth9",
        "somaxconn",
        "tcp_mem",
        "tsc",
        "--banirq=38",
        "try-restart",
        "'x",
        "reboot",
    ];
    for part in parts {
        assert!(left.contains(part), "{part} in {left}");
    }
    assert_eq!(advice.not_taken_over.len(), parts.len(), "{left}");
}

#[test]
fn options_are_taken_over_as_far_as_they_say_what_is_set() {
    let text = "cpu_mask: '0x0000000f'\nmode: sq_split\nnic:\n- eth0\ntune:\n- net\n- system\ntune_clock: true\narfs: true\nodd: 1\n\
                irq_core_auto_detection_ratio: 16\n";
    let advice = advice(&root(), text);
    let settings = settings(&advice);
    for expected in [
        "rps-cpus eth0/rx-0 0-3",
        "rps-cpus eth0/rx-2 0-3",
        "rps-flow-count eth0/rx-1 16384",
        "rps-sock-flow-entries machine 32768",
        "process-affinity server 1,3",
    ] {
        assert!(settings.iter().any(|setting| setting == expected), "{expected} in {settings:?}");
    }
    let left = advice.not_taken_over.join("\n");
    for part in
        ["interrupts of eth0", "xps_cpus", "tune_clock", "arfs", "odd", "ntuple", "somaxconn", "tcp_mem"]
    {
        assert!(left.contains(part), "{part} in {left}");
    }
}

#[test]
fn what_perftune_would_refuse_or_work_out_by_itself_is_named() {
    for (text, why) in [
        ("tune: [net]\n", "--dry-run"),
        ("tune: [net]\nmode: sq\nirq_cpu_mask: '0x1'\n", "not both"),
        ("tune: [net]\nirq_cpu_mask: '0x10'\n", "not part"),
        ("tune: [net]\nmode: fast\n", "not a mode"),
        ("tune: [nets]\nmode: sq\n", "not a part that"),
        ("mode: sq\n", "names nothing to tune"),
        ("cpu_mask: zz\n", "cpu_mask"),
        ("tune: [disks]\nmode: mq\ndev: [nvme0n1]\ndir: [/var/lib]\n", "nomerges"),
        ("what is this\n", "not an option"),
    ] {
        let left = advice(&root(), text).not_taken_over.join("\n");
        assert!(left.contains(why), "{why} in {left}");
    }
}

#[test]
fn a_mask_alone_is_where_the_application_runs() {
    let advice = advice(&root(), "0x0000000e\n");
    assert_eq!(settings(&advice), ["process-affinity server 1-3"]);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in "(?s)(echo |sysctl -w |ethtool -L |mode: |tune: \\[net\\]|cpu_mask: | > |/proc/irq/38/smp_affinity|0x|[0-9a-f,=\n]|.){0,30}",
    ) {
        let _ = advice(&root(), &text);
    }
}
