mod newer;

use machine::{Plan, Planned, Root, Tree, planned_acts};

use super::page::{json_text, without_double_hyphens};
use super::*;

fn root() -> Root {
    Root::from_tree(
        Tree::new()
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/proc/sys/vm/swappiness", "60\n")
            .file("/proc/irq/default_smp_affinity", "f\n")
            .file("/proc/irq/38/smp_affinity_list", "0-3\n")
            .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .file("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n"),
    )
}

const PLAN: [(&str, &str, &str); 17] = [
    ("process-affinity", "server", "2-3"),
    ("scheduling-policy", "server", "fifo:5"),
    ("io-priority", "server", "best-effort:2"),
    ("oom-score", "server", "-500"),
    ("memory-policy", "server", "bind:0"),
    ("unit-environment", "web", "A=50%"),
    ("cpuset", "/sys/fs/cgroup/system.slice", "0-1"),
    ("swappiness", "machine", "10"),
    ("transparent-huge-pages", "machine", "never"),
    ("rps-cpus", "eth0/rx-0", "0-1"),
    ("irq-default-affinity", "machine", "0-1"),
    ("irq-affinity", "38", "1"),
    ("vcpu-affinity", "web -- 1/vcpu/3", "2"),
    ("emulator-affinity", "web -- 1/emulator", "0-1"),
    ("boot-parameters", "machine", "nohz_full=2-3 rcu_nocbs=2-3"),
    ("process-affinity", "4711", "1"),
    ("swap\npiness", "machine", "1"),
];

fn settings() -> Vec<PlannedActs> {
    let planned = |(knob, target, value): (&str, &str, &str)| Planned {
        knob: knob.into(),
        target: target.into(),
        value: value.into(),
        ..Planned::default()
    };
    let plan = Plan { settings: PLAN.into_iter().map(planned).collect(), ..Plan::default() };
    planned_acts::of(&root(), &plan)
}

fn about(settings: &[PlannedActs]) -> Asked<'_> {
    Asked { purpose: "", settings, unit: None, online: None, isolated: None, nodes: &[] }
}

fn in_form(format: PlanFormat) -> Formatted {
    let online = CpuSet::from_list("0-3").unwrap();
    let settings = settings();
    let asked =
        Asked { purpose: "quiet\n[Service]", unit: Some("nginx"), online: Some(&online), ..about(&settings) };
    formatted(format, &asked)
}

/// The lines that are no comments.
fn bare(formatted: &Formatted, path: &str) -> String {
    let file = formatted.files.iter().find(|file| file.path == path);
    let text = &file.unwrap_or_else(|| panic!("{path} in {formatted:?}")).text;
    let is_bare = |line: &&str| !line.starts_with('#') && !line.starts_with("<!--");
    text.lines().filter(is_bare).map(|line| format!("{line}\n")).collect()
}

#[test]
fn tuned_gets_what_is_of_the_machine() {
    let tuned = in_form(PlanFormat::TunedProfile);
    assert_eq!(
        bare(&tuned, "etc/tuned/pinwise/tuned.conf"),
        "[main]\nsummary=Settings of a plan of pinwise\n\n[sysctl]\nvm.swappiness=10\n\n[sysfs]\n\
         /sys/kernel/mm/transparent_hugepage/enabled=never\n/sys/class/net/eth0/queues/rx-0/rps_cpus=3\n\n\
         [bootloader]\ncmdline_pinwise=+nohz_full=2-3 rcu_nocbs=2-3\n"
    );
    // What is written is read again as the same settings.
    let profile = machine::tuned_profile::of_text(&root(), "pinwise", &tuned.files[0].text).unwrap();
    let advice = machine::tuned_profile::advice(&root(), &profile);
    let again: Vec<(&str, &str)> =
        advice.plan.settings.iter().map(|planned| (planned.knob.as_str(), planned.value.as_str())).collect();
    assert_eq!(
        again,
        [
            ("swappiness", "10"),
            ("transparent-huge-pages", "never"),
            ("rps-cpus", "0-1"),
            ("boot-parameters", "nohz_full=2-3 rcu_nocbs=2-3")
        ]
    );
    assert_eq!(advice.not_taken_over, [] as [String; 0]);
}

#[test]
fn systemd_gets_units_and_files_of_the_kernel() {
    let systemd = in_form(PlanFormat::Systemd);
    assert_eq!(
        bare(&systemd, "etc/systemd/system/nginx.service.d/50-pinwise.conf"),
        "[Service]\nCPUAffinity=\nCPUAffinity=2-3\nCPUSchedulingPolicy=fifo\nCPUSchedulingPriority=5\n\
         IOSchedulingClass=best-effort\nIOSchedulingPriority=2\nOOMScoreAdjust=-500\nNUMAPolicy=bind\nNUMAMask=\n\
         NUMAMask=0\n"
    );
    assert_eq!(
        bare(&systemd, "etc/systemd/system/web.service.d/50-pinwise.conf"),
        "[Service]\nEnvironment=A=50%%\n"
    );
    assert_eq!(
        bare(&systemd, "etc/systemd/system/system.slice.d/50-pinwise.conf"),
        "[Slice]\nAllowedCPUs=\nAllowedCPUs=0-1\n"
    );
    assert_eq!(bare(&systemd, "etc/sysctl.d/90-pinwise.conf"), "vm/swappiness = 10\n");
    assert_eq!(
        bare(&systemd, "etc/tmpfiles.d/pinwise.conf"),
        "w /sys/kernel/mm/transparent_hugepage/enabled - - - - never\nw /proc/irq/default_smp_affinity - - - - 3\n"
    );
    assert!(bare(&systemd, "etc/udev/rules.d/90-pinwise.rules").contains("ATTR{queues/rx-0/rps_cpus}=\"3\""));
    assert!(systemd.text().contains("# ==> /etc/sysctl.d/90-pinwise.conf <==\n"));
}

#[test]
fn kubelet_gets_its_policies_and_the_rest_is_listed() {
    let kubelet = in_form(PlanFormat::Kubelet);
    assert_eq!(
        bare(&kubelet, "etc/kubernetes/kubelet.conf.d/90-pinwise.conf"),
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n\
         topologyManagerPolicy: single-numa-node\nreservedSystemCPUs: \"0-1\"\n"
    );
    let in_part = kubelet.left.iter().filter(|left| left.in_part).count();
    assert_eq!((in_part, kubelet.left.len()), (3, PLAN.len()));
}

#[test]
fn libvirt_gets_elements_of_a_guest() {
    let libvirt = in_form(PlanFormat::Libvirt);
    let elements: String = libvirt.files.iter().map(|file| bare(&libvirt, &file.path)).collect();
    assert_eq!(
        elements,
        "<numatune>\n  <memory mode=\"strict\" nodeset=\"0\"/>\n</numatune>\n<cputune>\n  <vcpupin vcpu=\"3\" cpuset=\"2\"/>\n  \
         <emulatorpin cpuset=\"0-1\"/>\n</cputune>\n"
    );
    for file in &libvirt.files {
        let mut comments =
            file.text.lines().filter_map(|line| line.strip_prefix("<!--")?.strip_suffix("-->"));
        assert!(comments.all(|comment| !comment.contains("--")), "{}", file.text);
    }
}

#[test]
fn irqbalance_gets_banned_cpus_and_a_script() {
    let irqbalance = in_form(PlanFormat::IrqbalancePolicy);
    assert_eq!(
        bare(&irqbalance, "etc/default/irqbalance"),
        "IRQBALANCE_BANNED_CPULIST=2-3\nIRQBALANCE_ARGS=\"--policyscript=/etc/irqbalance/pinwise-policy\"\n"
    );
    assert_eq!(
        bare(&irqbalance, "etc/irqbalance/pinwise-policy"),
        "case \"$2\" in\n38) echo ban=true; exit 0 ;;\nesac\nexit 0\n"
    );
    assert!(irqbalance.files[1].text.starts_with("#!/bin/sh\n"));
}

#[test]
fn nothing_is_dropped_in_silence_and_no_text_from_outside_is_a_line() {
    for format in [
        PlanFormat::TunedProfile,
        PlanFormat::Systemd,
        PlanFormat::Kubelet,
        PlanFormat::Libvirt,
        PlanFormat::IrqbalancePolicy,
        PlanFormat::SystemdBetween("08:00-18:00".parse().unwrap()),
        PlanFormat::NriBalloons,
        PlanFormat::ScxLayered,
    ] {
        let formatted = in_form(format);
        let first = &formatted.files[0].text;
        for left in &formatted.left {
            let line = left.to_string();
            assert_eq!(line.lines().count(), 1);
            let line = match format {
                PlanFormat::Libvirt => without_double_hyphens(&line),
                PlanFormat::ScxLayered => json_text(&line).trim_matches('"').to_string(),
                _ => line,
            };
            assert!(first.contains(&line), "{line} in {first}");
        }
        let is_left = |knob: &str, target: &str| {
            formatted.left.iter().any(|left| left.setting.knob == knob && left.setting.target == target)
        };
        assert!(is_left("process-affinity", "4711") && is_left("swap\npiness", "machine"), "{format:?}");
        assert!(!first.lines().any(|line| line == "[Service]") || format == PlanFormat::Systemd);
        let purpose =
            if format == PlanFormat::ScxLayered { r"quiet\\n[Service]" } else { r"quiet\n[Service]" };
        assert!(first.contains(purpose), "{first}");
    }
}

#[test]
fn a_plan_without_anything_to_say_has_no_file() {
    let plan = Plan::parse("[[setting]]\nknob = \"swappiness\"\nvalue = \"1\"\n").unwrap();
    let settings = planned_acts::of(&root(), &plan);
    let asked = about(&settings);
    for format in [
        PlanFormat::Kubelet,
        PlanFormat::Libvirt,
        PlanFormat::IrqbalancePolicy,
        PlanFormat::NriBalloons,
        PlanFormat::ScxLayered,
    ] {
        let formatted = formatted(format, &asked);
        assert!(formatted.files.is_empty() && formatted.left.len() == 1, "{formatted:?}");
    }
}

#[test]
fn a_name_cannot_leave_its_folder() {
    let planned = |target: &str| Planned {
        knob: "oom-score".into(),
        target: target.into(),
        value: "1".into(),
        ..Planned::default()
    };
    for target in ["../../etc/x", "/x", ".x", "a b", "a\"b", "x.service/../y"] {
        let plan = Plan { settings: vec![planned(target)], ..Plan::default() };
        let settings = planned_acts::of(&root(), &plan);
        let between = PlanFormat::SystemdBetween("08:00-18:00".parse().unwrap());
        for format in [PlanFormat::Systemd, between] {
            assert_eq!(formatted(format, &about(&settings)).files, [] as [FormatFile; 0], "{target}");
        }
    }
}
