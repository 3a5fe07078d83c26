//! CPUs that are set apart: by the kernel's command line, and by cpuset partitions (cgroup v2).

use machine::CpuSet;
use machine::isolation::{Domain, SetBy};

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
    assert_eq!(before.isolation.sets.iter().map(|set| &set.by).collect::<Vec<_>>(), [&SetBy::Boot]);
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
        // 6.1 says nothing of partitions in its list of isolated CPUs.
        assert_eq!(inside.kernel.isolated, cpus("3"), "{kind}");
    }
    // A partition of kind root is balanced within.
    let root = reported("outside-root.json");
    let domain = Domain { cgroup: "/part".into(), cpus: cpus("1-2").unwrap() };
    assert_eq!((root.isolated(), root.isolation.domains), (cpus("3"), vec![domain]));
    let isolated = reported("inside-isolated.json");
    assert_eq!((isolated.isolated(), isolated.isolation.domains), (cpus("1-3"), vec![]));
    let of_partition = SetBy::Partition { cgroup: "/part".into() };
    let set = isolated.isolation.sets.iter().find(|set| set.by == of_partition).unwrap();
    let residents = set.residents.as_ref().unwrap();
    assert!(residents.first.iter().any(|process| process.comm == "pinwise"), "{residents:?}");
    let after = reported("after.json");
    assert_eq!(after.limits.cpuset_cpus, before.limits.cpuset_cpus);
    assert_eq!(after.isolation, before.isolation);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_server_in_an_isolated_partition_is_said_to_be_balanced_nowhere() {
    let Some(guest) = guest::like("two-node-smt") else { return };
    let outcome = guest::run(
        &guest,
        "cd /sys/fs/cgroup
        echo +cpuset > cgroup.subtree_control
        mkdir rt
        echo 2-3 > rt/cpuset.cpus
        echo isolated > rt/cpuset.cpus.partition
        [ $(cat rt/cpuset.cpus.partition) = isolated ]
        sleep 100 &
        server=$!
        echo $server > rt/cgroup.procs
        pinwise map --format json > /rehearsal/files/map.json
        pinwise map > /rehearsal/files/map.txt
        pinwise map --process $server > /rehearsal/files/server.txt
        kill $server",
    );
    let machine = guest::machine(&outcome, "map.json");
    assert_eq!((machine.kernel.isolated.clone(), machine.isolated()), (cpus(""), cpus("2-3")));
    let [set] = &machine.isolation.sets[..] else { panic!("{:?}", machine.isolation) };
    assert_eq!(set.by, SetBy::Partition { cgroup: "/rt".into() });
    assert_eq!(set.residents.as_ref().map(|residents| residents.count), Some(1));
    let text = guest::text(&outcome, "map.txt");
    assert!(text.contains("CPUs 2-3 (partition /rt)"), "{text}");
    let text = guest::text(&outcome, "server.txt").split_whitespace().collect::<Vec<_>>().join(" ");
    let remark = "1 thread may run on CPUs 2-3, isolated by partition /rt: the scheduler balances nothing between them";
    assert!(text.contains(remark), "{text}");
}
