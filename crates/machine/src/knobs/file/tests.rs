use super::super::{Knob, find};
use super::form::wide;
use crate::{Act, Class, CpuSet, Root, Tree};

fn root() -> Root {
    let cpufreq = "/sys/devices/system/cpu/cpufreq/policy0";
    Root::from_tree(
        Tree::new()
            .file("/sys/devices/system/cpu/online", "0-79\n")
            .dir("/sys/class/net/lo/queues/tx-0")
            .file("/sys/class/net/bonding_masters", "\n")
            .file("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0000,00000000,00000003\n")
            .file("/sys/class/net/eth0/queues/rx-0/rps_flow_cnt", "0\n")
            .file("/sys/class/net/eth0/queues/rx-10/rps_cpus", "0000,00000000,00000000\n")
            .file("/sys/class/net/eth0/queues/rx-2/rps_cpus", "zz\n")
            .file("/sys/class/net/eth0/queues/tx-1/xps_cpus", "0000,00000000,00000000\n")
            .file("/sys/class/net/eth0/gro_flush_timeout", "0\n")
            .file("/proc/irq/default_smp_affinity", "ffff,ffffffff,ffffffff\n")
            .file("/proc/sys/kernel/watchdog_cpumask", "0-79\n")
            .file("/proc/sys/vm/swappiness", "60\n")
            .file("/proc/sys/vm/dirty_ratio", "twenty\n")
            .file("/proc/sys/kernel/timer_migration", "1\n")
            .file("/proc/sys/kernel/sched_rt_runtime_us", "950000\n")
            .file("/proc/sys/kernel/sched_rt_period_us", "1000000\n")
            .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .file("/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "n/a\n")
            .file("/sys/devices/system/cpu/cpu4/power/pm_qos_resume_latency_us", "0\n")
            .file("/sys/devices/system/cpu/cpu3/cpuidle/state1/disable", "1\n")
            .file("/sys/devices/system/cpu/cpu3/cpuidle/state1/name", "C1E\n")
            .file(&format!("{cpufreq}/scaling_governor"), "schedutil\n")
            .file(&format!("{cpufreq}/scaling_available_governors"), "performance powersave schedutil \n")
            .file(&format!("{cpufreq}/scaling_max_freq"), "3000000\n")
            .file(&format!("{cpufreq}/cpuinfo_min_freq"), "800000\n")
            .file(&format!("{cpufreq}/cpuinfo_max_freq"), "3500000\n")
            .file("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")
            .file("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "7\n")
            .file("/sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"),
    )
}

fn knob(id: &str) -> &'static dyn Knob {
    find(id).unwrap()
}

fn ids(id: &str) -> Vec<String> {
    knob(id).targets(&root()).unwrap().into_iter().map(|target| target.id).collect()
}

fn read(id: &str, target: &str) -> String {
    knob(id).read(&root(), target).unwrap()
}

fn written(id: &str, target: &str, value: &str) -> String {
    match &knob(id).change(&root(), target, value).unwrap()[..] {
        [Act::WriteFile { value, netns: None, .. }] => value.clone(),
        other => panic!("{other:?}"),
    }
}

fn refused(id: &str, target: &str, value: &str) -> String {
    let fault = knob(id).change(&root(), target, value).unwrap_err();
    assert!(fault.class == Class::Usage && fault.object.contains(id), "{fault}");
    fault.to_string()
}

#[test]
fn queues_are_found_and_masks_have_the_width_of_the_file() {
    assert_eq!(ids("rps-cpus"), ["eth0/rx-0", "eth0/rx-2", "eth0/rx-10"]);
    assert_eq!(ids("xps-cpus"), ["eth0/tx-1"]);
    assert_eq!(read("rps-cpus", "eth0/rx-0"), "0-1");
    assert_eq!(read("rps-cpus", "eth0/rx-10"), "");
    assert_eq!(written("rps-cpus", "eth0/rx-0", "0,33"), "0000,00000002,00000001");
    assert_eq!(written("rps-cpus", "eth0/rx-0", "79"), "8000,00000000,00000000");
    assert_eq!(written("rps-cpus", "eth0/rx-0", ""), "0000,00000000,00000000");
    assert_eq!(written("irq-default-affinity", "machine", "0"), "0000,00000000,00000001");
    assert_eq!(written("watchdog-cpus", "machine", "0,1,2"), "0-2");
}

#[test]
fn a_file_and_what_is_written_to_it_lead_to_the_setting() {
    let setting = |path: &str, text: &str| {
        super::super::of_file(&root(), path, text).map(|setting| setting.map(|s| (s.knob, s.target, s.value)))
    };
    let is = |knob: &str, target: &str, value: &str| -> Option<Result<(String, String, String), String>> {
        Some(Ok((knob.into(), target.into(), value.into())))
    };
    assert_eq!(setting("/proc/sys/vm/swappiness", " 10\n"), is("swappiness", "machine", "10"));
    assert_eq!(setting("/proc/sys/kernel/timer_migration", "0"), is("timer-migration", "machine", "off"));
    let menu = "/sys/kernel/mm/transparent_hugepage/enabled";
    assert_eq!(setting(menu, "never"), is("transparent-huge-pages", "machine", "never"));
    assert_eq!(setting("/sys/class/net/eth0/queues/rx-0/rps_cpus", "3"), is("rps-cpus", "eth0/rx-0", "0-1"));
    assert_eq!(setting("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"), is("turbo", "machine", "off"));
    assert!(setting("/proc/sys/vm/swappiness", "lots").unwrap().is_err());
    assert!(setting(menu, "").unwrap().is_err() && setting(menu, "a b").unwrap().is_err());
    assert_eq!(setting("/proc/sys/kernel/hostname", "x"), None);
}

#[test]
fn malformed_files_names_and_values_are_refused() {
    assert!(knob("rps-cpus").read(&root(), "eth0/rx-2").unwrap_err().to_string().contains("rx-2/rps_cpus"));
    let odd = ["eth0/tx-0", "eth0/rx-1", "eth0", "../eth0/rx-0", "eth0/rx-x", ":eth0/rx-0", "a/b:eth0/rx-0"];
    for target in odd {
        assert!(knob("rps-cpus").change(&root(), target, "0").is_err(), "{target}");
    }
    assert!(refused("rps-cpus", "eth0/rx-0", "80").contains("80"));
    assert!(refused("irq-default-affinity", "machine", "").contains("empty"));
    let fault = knob("rps-cpus").read(&root(), "red:eth0/rx-0").unwrap_err();
    assert!(fault.cause.contains("red") && fault.class == Class::MachineLacks, "{fault}");
    let fault = knob("dirty-ratio").read(&root(), "machine").unwrap_err();
    assert!(fault.object.contains("dirty_ratio") && fault.cause.contains("twenty"), "{fault}");
    assert!(
        knob("swappiness").read(&root(), "cpu0").is_err()
            && knob("zone-reclaim").read(&root(), "machine").is_err()
    );
}

#[test]
fn numbers_are_held_against_their_range() {
    assert_eq!(read("swappiness", "machine"), "60");
    assert_eq!(written("swappiness", "machine", "010"), "10");
    assert!(refused("swappiness", "machine", "201").contains("0 to 200"));
    assert!(refused("swappiness", "machine", "lots").contains("not a whole number"));
    // The end of the range stands in a file beside it.
    assert!(refused("rt-runtime", "machine", "1000001").contains("-1 to 1000000"));
    assert_eq!(written("rt-runtime", "machine", "-1"), "-1");
    assert!(refused("frequency-max", "policy0", "799999").contains("800000 to 3500000"));
    assert_eq!(written("rps-flow-count", "eth0/rx-0", "4096"), "4096");
    assert!(refused("rps-flow-count", "eth0/rx-0", "1000").contains("power of two"));
}

#[test]
fn words_stand_for_what_the_file_means() {
    assert_eq!(read("timer-migration", "machine"), "on");
    assert_eq!(written("timer-migration", "machine", "off"), "0");
    assert!(refused("timer-migration", "machine", "1").contains("off, on"));
    // Inverted: 1 is off.
    assert_eq!(ids("idle-state"), ["cpu3/state1"]);
    assert_eq!(
        (read("idle-state", "cpu3/state1"), written("idle-state", "cpu3/state1", "on")),
        ("off".into(), "0".into())
    );
    assert_eq!((read("turbo", "machine"), written("turbo", "machine", "on")), ("off".into(), "0".into()));
    // n/a is no latency at all, and 0 no limit.
    assert_eq!(ids("cpu-resume-latency"), ["cpu3", "cpu4"]);
    assert_eq!(
        (read("cpu-resume-latency", "cpu3"), read("cpu-resume-latency", "cpu4")),
        ("0".into(), "unlimited".into())
    );
    assert_eq!(written("cpu-resume-latency", "cpu3", "unlimited"), "0");
    assert_eq!(written("cpu-resume-latency", "cpu3", "0"), "n/a");
    assert_eq!(written("cpu-resume-latency", "cpu3", "20"), "20");
}

#[test]
fn menus_are_in_the_file_or_beside_it() {
    assert_eq!(read("transparent-huge-pages", "machine"), "madvise");
    assert_eq!(written("transparent-huge-pages", "machine", "never"), "never");
    assert!(refused("transparent-huge-pages", "machine", "[never]").contains("always, madvise, never"));
    assert_eq!(read("frequency-governor", "policy0"), "schedutil");
    assert!(
        refused("frequency-governor", "policy0", "ondemand").contains("performance, powersave, schedutil")
    );
}

#[test]
fn boost_stands_in_for_turbo_and_huge_pages_are_named_by_their_size() {
    let boost = Root::from_tree(Tree::new().file("/sys/devices/system/cpu/cpufreq/boost", "1\n"));
    assert_eq!(knob("turbo").read(&boost, "machine").unwrap(), "on");
    assert_eq!(ids("huge-pages"), ["node1/2MiB", "node1/1GiB"]);
    assert_eq!(read("huge-pages", "node1/2MiB"), "7");
}

proptest::proptest! {
    #[test]
    fn a_mask_of_any_width_means_the_same(cpus in proptest::collection::btree_set(0u32..200, 0..9), digits in 1usize..60) {
        let cpus: CpuSet = cpus.into_iter().collect();
        let mask = wide(&cpus, &"0".repeat(digits));
        proptest::prop_assert_eq!(CpuSet::from_mask(&mask).unwrap(), cpus);
    }
}
