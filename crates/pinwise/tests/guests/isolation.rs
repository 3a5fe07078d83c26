//! CPUs that are set apart: by the kernel's command line, and by cpuset partitions (cgroup v2).

use machine::CpuSet;

use crate::guest;

fn cpus(list: &str) -> Option<CpuSet> {
    Some(CpuSet::from_list(list).unwrap())
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn what_is_isolated_and_what_a_partition_leaves() {
    let Some(guest) = guest::like("plain") else { return };
    let outcome = guest::run(
        &guest.cmdline("isolcpus=3"),
        "pinwise map --format json > before.json
        cd /sys/fs/cgroup
        echo +cpuset > cgroup.subtree_control
        mkdir part
        echo 1-2 > part/cpuset.cpus
        inside='echo 0 > /sys/fs/cgroup/part/cgroup.procs; exec pinwise map --format json'
        for kind in root isolated; do
          echo $kind > part/cpuset.cpus.partition
          [ $(cat part/cpuset.cpus.partition) = $kind ]
          pinwise map --format json > /rehearsal/files/outside-$kind.json
          sh -c \"$inside\" > /rehearsal/files/inside-$kind.json
        done
        rmdir part
        pinwise map --format json > /rehearsal/files/after.json",
    );
    let reported = |name: &str| guest::machine(&outcome, name);
    let before = reported("before.json");
    assert_eq!(before.kernel.isolated, cpus("3"));
    assert!(before.missing.iter().all(|missing| !missing.fact.contains("isolat")), "{:?}", before.missing);
    // Its first process runs where the scheduler balances.
    assert_eq!(before.usable(), cpus("0-2").unwrap());
    for kind in ["root", "isolated"] {
        let outside = reported(&format!("outside-{kind}.json"));
        assert!(
            !outside.usable().contains(1) && !outside.usable().contains(2),
            "{kind}: {:?}",
            outside.limits
        );
        assert!(outside.usable().contains(0), "{kind}: {:?}", outside.limits);
        let inside = reported(&format!("inside-{kind}.json"));
        assert_eq!(
            (&inside.limits.cpuset_cpus, inside.usable()),
            (&cpus("1-2"), cpus("1-2").unwrap()),
            "{kind}"
        );
        assert_eq!(inside.limits.cgroups.iter().map(|c| c.path.as_str()).collect::<Vec<_>>(), ["/part"]);
        // 6.1 says nothing of partitions in its list of isolated CPUs, and neither do we.
        assert_eq!(inside.kernel.isolated, cpus("3"), "{kind}");
    }
    assert_eq!(reported("after.json").limits.cpuset_cpus, before.limits.cpuset_cpus);
}
