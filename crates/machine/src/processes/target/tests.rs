//! Names of servers, of trees that are there and of such as are not.

use super::super::scan::tests::stat;
use super::*;
use crate::Tree;

const V2: &str = "/sys/fs/cgroup";

fn v2() -> Tree {
    Tree::new()
        .file("/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        .file(&format!("{V2}/cgroup.procs"), "")
        .file(&format!("{V2}/system.slice/cgroup.procs"), "")
        .file(&format!("{V2}/system.slice/nginx.service/cgroup.procs"), "700\n")
        .file(&format!("{V2}/system.slice/nginx.service/workers/cgroup.procs"), "702\n701\n")
        .file(
            &format!("{V2}/system.slice/system-postgresql.slice/postgresql@15-main.service/cgroup.procs"),
            "800\n",
        )
        .file(&format!("{V2}/system.slice/_cpu.service/cgroup.procs"), "810\n")
        .file(&format!("{V2}/system.slice/empty.service/cgroup.procs"), "")
        .file(
            &format!("{V2}/user.slice/user-1.slice/user@1.service/app.slice/x.service/cgroup.procs"),
            "900\n",
        )
        .file(
            &format!("{V2}/user.slice/user-2.slice/user@2.service/app.slice/x.service/cgroup.procs"),
            "901\n",
        )
}

fn pids(tree: &Tree, asked: &str) -> Vec<u32> {
    find(&Root::from_tree(tree.clone()), asked).unwrap().pids
}

fn refused(tree: &Tree, asked: &str) -> Fault {
    find(&Root::from_tree(tree.clone()), asked).unwrap_err()
}

#[test]
fn units_of_version_2_with_and_without_their_kind_and_cgroups_by_both_paths() {
    let tree = v2();
    for asked in [
        "nginx",
        "nginx.service",
        "/system.slice/nginx.service",
        "/sys/fs/cgroup/system.slice/nginx.service/",
    ] {
        assert_eq!(pids(&tree, asked), [700, 701, 702], "{asked}");
    }
    assert_eq!(pids(&tree, "cpu.service"), [810]);
    assert_eq!(pids(&tree, "postgresql@15-main"), [800]);
    let found = find(&Root::from_tree(tree), "nginx").unwrap();
    assert_eq!(found.unit.as_deref(), Some("nginx.service"));
    assert_eq!(found.cgroup.as_deref(), Some("/sys/fs/cgroup/system.slice/nginx.service"));
}

#[test]
fn units_of_version_1_are_in_the_hierarchy_of_systemd() {
    let tree = Tree::new()
        .file(
            "/proc/self/mountinfo",
            "1 0 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n2 0 0:2 / /sys/fs/cgroup/unified rw - cgroup2 c rw\n\
             3 0 0:3 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
        )
        .file("/sys/fs/cgroup/cpu/system.slice/slapd.service/cgroup.procs", "1\n")
        .file("/sys/fs/cgroup/systemd/system.slice/slapd.service/cgroup.procs", "55\n")
        .file("/sys/fs/cgroup/unified/system.slice/slapd.service/cgroup.procs", "55\n");
    assert_eq!(pids(&tree, "slapd"), [55]);
    let tree = tree.file("/sys/fs/cgroup/cpu/jobs/7/cgroup.procs", "77\n");
    assert_eq!(pids(&tree, "/jobs/7"), [77], "a cgroup of one controller only");
}

#[test]
fn a_unit_that_is_not_there_gets_near_names() {
    let fault = refused(&v2(), "postgresql");
    assert_eq!(fault.class, Class::MachineLacks);
    assert!(fault.remedy.contains("postgresql@15-main.service"), "{fault}");
    assert!(refused(&v2(), "ngnix.service").remedy.contains("similar names: nginx.service"));
    assert!(refused(&v2(), "oracle").remedy.contains("process number"));
    let fault = refused(&v2(), "x");
    assert!(fault.class == Class::Usage && fault.cause.contains("user@1.service"), "{fault}");
    assert!(refused(&v2(), "empty").cause.contains("no process is in"));
    assert!(refused(&v2(), "/system.slice/none").cause.contains("no such cgroup"));
    let without_systemd = Tree::new()
        .file("/proc/self/mountinfo", "1 0 0:1 / /c rw - cgroup2 c rw\n")
        .file("/proc/700/stat", stat(700, "redis-server", 1, 0));
    let fault = refused(&without_systemd, "redis-server.service");
    assert!(fault.cause.contains("not run by systemd") && fault.remedy.contains("700"), "{fault}");
}

#[test]
fn the_only_process_of_a_name_is_meant_by_it_with_its_workers() {
    let process = |tree: Tree, pid: u32, comm: &str, parent| {
        tree.file(&format!("/proc/{pid}/stat"), stat(pid, comm, parent, 0))
            .file(&format!("/proc/{pid}/status"), format!("Tgid:\t{pid}\n"))
    };
    let one = process(process(v2(), 700, "redis-server", 1), 701, "redis-server", 700);
    assert_eq!(pids(&one, "redis-server"), [700, 701]);
    // The kernel keeps 15 bytes of a name.
    assert_eq!(pids(&process(v2(), 9, "a-very-long-nam", 1), "a-very-long-name-indeed"), [9]);
    let two = process(one, 900, "redis-server", 1);
    let fault = refused(&two, "redis-server");
    assert!(fault.class == Class::Usage && fault.cause.contains("700, 900"), "{fault}");
}

#[test]
fn several_processes_of_a_name_are_described_or_taken_together() {
    let process = |tree: Tree, pid: u32, comm: &str, parent| {
        tree.file(&format!("/proc/{pid}/stat"), stat(pid, comm, parent, 0))
            .file(&format!("/proc/{pid}/status"), format!("Tgid:\t{pid}\n"))
            .file(&format!("/proc/{pid}/cgroup"), format!("0::/system.slice/redis@{pid}.service\n"))
    };
    let tree =
        process(process(process(v2(), 700, "redis-server", 1), 701, "save", 700), 900, "redis-server", 1);
    // They began 70,000 and 90,000 clock ticks after boot.
    let tree = tree.file("/proc/uptime", "4500.10 9000.00\n");
    let root = |ticks_per_s: &str| Root::from_tree(tree.clone()).with_fact("clock_ticks", ticks_per_s);
    let fault = find(&root("100"), "redis-server").unwrap_err();
    assert!(
        fault.cause.contains("700 (for 63 min, in /system.slice/redis@700.service), 900 (for 60 min"),
        "{fault}"
    );
    // As Alpha counts them.
    let fault = find(&root("1024"), "redis-server").unwrap_err();
    assert!(fault.cause.contains("700 (for 74 min, in"), "{fault}");
    // Nothing is said of their age where the length of a tick is not known.
    for root in [Root::from_tree(tree.clone()), root("0"), root("many")] {
        let fault = find(&root, "redis-server").unwrap_err();
        assert!(fault.cause.contains("700 (in /system.slice/redis@700.service), 900 (in"), "{fault}");
    }
    assert!(fault.remedy.contains("all:redis-server"), "{fault}");
    let all = find(&Root::from_tree(tree.clone()), "all:redis-server").unwrap();
    assert_eq!((all.pids, all.unit, all.cgroup, all.by_name), (vec![700, 701, 900], None, None, true));
    assert!(!find(&Root::from_tree(tree.clone()), "save").unwrap().by_name);
    assert_eq!(refused(&tree, "all:nobody").class, Class::MachineLacks);
    assert_eq!(refused(&tree, "all:").class, Class::MachineLacks);
    let many = (1000..1040).fold(v2(), |tree, pid| process(tree, pid, "worker", 1));
    assert!(refused(&many, "worker").cause.ends_with("and 30 more"), "{}", refused(&many, "worker"));
}

#[test]
fn jobs_of_slurm_by_their_number_and_cgroups_without_their_first_slash() {
    let tree = v2()
        .file(&format!("{V2}/system.slice/slurmstepd.scope/job_4711/cgroup.procs"), "")
        .file(&format!("{V2}/system.slice/slurmstepd.scope/job_4711/step_0/cgroup.procs"), "")
        .file(&format!("{V2}/system.slice/slurmstepd.scope/job_4711/step_0/user/cgroup.procs"), "")
        .file(&format!("{V2}/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0/cgroup.procs"), "31\n")
        .file(&format!("{V2}/system.slice/slurmstepd.scope/job_4712/cgroup.procs"), "");
    let found = find(&Root::from_tree(tree.clone()), "job:4711").unwrap();
    assert_eq!((found.pids, found.unit), (vec![31], None));
    assert_eq!(found.cgroup, Some(format!("{V2}/system.slice/slurmstepd.scope/job_4711")));
    assert_eq!(pids(&tree, "job_4711"), [31]);
    assert_eq!(refused(&tree, "4711").object, "process 4711", "a number alone is a process");
    let fault = refused(&tree, "job:4713");
    assert!(fault.class == Class::MachineLacks && fault.remedy.contains("4711, 4712"), "{fault}");
    assert!(refused(&tree, "job:4712").cause.contains("no process is in"));
    assert!(refused(&v2(), "job:4711").remedy.contains("squeue"));
    assert_eq!(pids(&tree, "system.slice/slurmstepd.scope/job_4711"), [31]);
    assert_eq!(refused(&tree, "system.slice/none").class, Class::MachineLacks);
    let unit = tree.file(&format!("{V2}/system.slice/job_4711.service/cgroup.procs"), "77\n");
    assert_eq!((pids(&unit, "job_4711"), pids(&unit, "job:4711")), (vec![77], vec![31]), "a unit is nearer");
}

#[test]
fn a_number_means_the_tree_below_it_and_a_thread_means_its_process() {
    let tree = v2()
        .file("/proc/700/stat", stat(700, "nginx", 1, 0))
        .file("/proc/700/status", "Tgid:\t700\n")
        .file("/proc/701/stat", stat(701, "nginx", 700, 0))
        .file("/proc/701/status", "Tgid:\t701\n")
        .file("/proc/709/status", "Name:\tnginx\nTgid:\t700\n");
    assert_eq!(pids(&tree, "700"), [700, 701]);
    assert_eq!(pids(&tree, "701"), [701]);
    assert_eq!(pids(&tree, "709"), [700, 701]);
    let wrapped = tree.clone().file("/proc/90/stat", stat(90, "nginx", 701, 0));
    assert_eq!(pids(&wrapped, "700"), [700, 90, 701]);
    assert_eq!(refused(&tree, "12").class, Class::MachineLacks);
    assert_eq!(refused(&tree, "0").class, Class::Usage);
    assert_eq!(refused(&tree, "99999999999").class, Class::Usage);
    assert_eq!(refused(&tree, " ").class, Class::Usage);
    assert_eq!(refused(&tree.denied("/proc/700/status"), "700").class, Class::NotPermitted);
}

const ID: &str = "4f2c0de9a1b24f2c0de9a1b24f2c0de9a1b24f2c0de9a1b24f2c0de9a1b2c3d4";

#[test]
fn containers_of_each_engine_by_their_whole_id_and_by_its_beginning() {
    for cgroup in [
        format!("system.slice/docker-{ID}.scope"),
        format!("docker/{ID}"),
        format!("machine.slice/libpod-{ID}.scope"),
        format!("kubepods.slice/kubepods-pod1_2.slice/cri-containerd-{ID}.scope"),
        format!("kubepods/burstable/pod1-2/crio-{ID}"),
        format!("kubepods/besteffort/pod1-2/{ID}"),
    ] {
        let tree = v2()
            .file(&format!("{V2}/{cgroup}/cgroup.procs"), "31\n")
            .file(&format!("{V2}/{cgroup}/init/cgroup.procs"), "30\n");
        for asked in [ID, &ID[..12], &ID[..8], &ID[..12].to_uppercase()] {
            assert_eq!(pids(&tree, asked), [30, 31], "{cgroup}, {asked}");
        }
        let found = find(&Root::from_tree(tree.clone()), &ID[..12]).unwrap();
        assert_eq!((found.unit, found.cgroup), (None, Some(format!("{V2}/{cgroup}"))));
        // Malformed twins: too few digits, others, more than there are.
        for asked in [&ID[..7], "4f2c0de8", &format!("{ID}0"), "4f2c0deg"] {
            let fault = refused(&tree, asked);
            assert_eq!(fault.class, Class::MachineLacks);
            for form in ["process number", "unit", "cgroup", "id of a container", "name of a guest"] {
                assert!(fault.remedy.contains(form), "{fault}");
            }
        }
    }
}

#[test]
fn containers_by_what_their_engine_calls_them() {
    let tree = v2().file(&format!("{V2}/docker/{ID}/cgroup.procs"), "30\n").file(
        &format!("{V2}/machine.slice/libpod-{}.scope/cgroup.procs", ID.replace("4f2c", "77aa")),
        "40\n",
    );
    let docker = format!("container_name docker {ID}");
    let podman = format!("container_name podman {}", ID.replace("4f2c", "77aa"));
    let root = |docker_name: &str, podman_name: &str| {
        Root::from_tree(tree.clone()).with_fact(&docker, docker_name).with_fact(&podman, podman_name)
    };
    let named = root("shop-db", "web");
    let found = find(&named, "shop-db").unwrap();
    assert_eq!((found.pids, found.cgroup), (vec![30], Some(format!("{V2}/docker/{ID}"))));
    assert_eq!(find(&named, "web").unwrap().pids, [40]);
    assert_eq!(find(&named, &ID[..12]).unwrap().pids, [30], "its id as before");
    let fault = find(&named, "shop-dc").unwrap_err();
    assert!(fault.remedy.contains("similar names: shop-db"), "{fault}");
    let fault = find(&root("web", "web"), "web").unwrap_err();
    assert!(fault.class == Class::Usage && fault.cause.contains("several of this name"), "{fault}");
    assert_eq!(find(&root("nginx", "web"), "nginx").unwrap().pids, [700, 701, 702], "a unit is nearer");
    // Where the engine's files cannot be read, its ids alone are known.
    assert_eq!(refused(&tree, "shop-db").class, Class::MachineLacks);
}

#[test]
fn what_a_refusal_would_offer_is_not_read_for_what_is_found() {
    let tree = v2()
        .file(&format!("{V2}/docker/{ID}/cgroup.procs"), "30\n")
        .file("/proc/30/stat", stat(30, "db", 1, 0));
    let root = Root::recording(Root::from_tree(tree));
    assert_eq!(find(&root, &ID[..12]).unwrap().pids, [30]);
    let read = root.take_capture().unwrap();
    assert!(read.files().all(|file| !file.starts_with("/proc/30/")), "{read:?}");
    assert!(!format!("{read:?}").contains("container_name"), "{read:?}");
    // Where nothing is called so, they are.
    assert!(find(&root, "nothing-of-this-name").is_err());
    assert!(format!("{:?}", root.take_capture()).contains("container_name"));
}

#[test]
fn ids_without_letters_are_distinguished_from_numbers_of_processes() {
    let id = "1234567890123456789012345678901234567890123456789012345678901234";
    let tree = v2().file(&format!("{V2}/docker/{id}/cgroup.procs"), "30\n");
    assert_eq!(pids(&tree, &id[..12]), [30]);
    assert_eq!(refused(&tree, "1234567").object, "process 1234567");
    assert_eq!(refused(&tree, "12345679").class, Class::MachineLacks);
}

#[test]
fn a_beginning_that_several_containers_share_names_them() {
    let other = ID.replace("c3d4", "ffff");
    let tree = v2()
        .file(&format!("{V2}/docker/{ID}/cgroup.procs"), "30\n")
        .file(&format!("{V2}/machine.slice/libpod-{other}.scope/cgroup.procs"), "40\n");
    let fault = refused(&tree, &ID[..12]);
    assert_eq!(fault.class, Class::Usage);
    assert!(fault.cause.contains(ID) && fault.cause.contains(&other), "{fault}");
    assert_eq!(pids(&tree, ID), [30]);
    let many = (0..40).fold(v2(), |tree, n| tree.dir(&format!("{V2}/docker/{}{n:02}", &ID[..62])));
    assert!(refused(&many, &ID[..12]).cause.ends_with("and 30 more"), "{}", refused(&many, &ID[..12]));
}

#[test]
fn a_container_of_version_1_is_one_though_both_hierarchies_have_it() {
    let tree = Tree::new()
        .file(
            "/proc/self/mountinfo",
            "2 0 0:2 / /c/unified rw - cgroup2 c rw\n3 0 0:3 / /c/systemd rw - cgroup cgroup rw,name=systemd\n",
        )
        .file(&format!("/c/systemd/docker/{ID}/cgroup.procs"), "")
        .file(&format!("/c/unified/docker/{ID}/cgroup.procs"), "30\n");
    assert_eq!(pids(&tree, &ID[..8]), [30]);
    let stopped = tree.file(&format!("/c/unified/docker/{ID}/cgroup.procs"), "");
    let fault = refused(&stopped, &ID[..8]);
    assert!(fault.object.contains(ID) && fault.cause.contains("no process is in /c/systemd"), "{fault}");
}

const UID: &str = "0f2c4a7e-91d2-4b5e-8c3a-2f1b6d7e9a01";

/// A pod of one container beside its holder, below this cgroup of its own; kubelet has logs of it.
fn pod(tree: Tree, cgroup: &str, container: &str, folder: &str) -> Tree {
    tree.file(&format!("{V2}/{cgroup}/cgroup.procs"), "")
        .file(&format!("{V2}/{cgroup}/{container}/cgroup.procs"), "32\n31\n")
        .file(&format!("{V2}/{cgroup}/holder/cgroup.procs"), "30\n")
        .file("/proc/30/comm", "pause\n")
        .file("/proc/31/comm", "nginx\n")
        .file("/proc/32/comm", "nginx\n")
        .dir(&format!("/var/log/pods/{folder}/nginx"))
}

fn web(tree: Tree) -> Tree {
    let cgroup = format!(
        "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice",
        UID.replace('-', "_")
    );
    pod(tree, &cgroup, &format!("cri-containerd-{ID}.scope"), &format!("shop_web-7d9f_{UID}"))
}

#[test]
fn pods_of_each_driver_by_uid_and_by_name() {
    let underscores = UID.replace('-', "_");
    for (cgroup, container) in [
        (
            format!("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{underscores}.slice"),
            format!("cri-containerd-{ID}.scope"),
        ),
        (format!("kubepods.slice/kubepods-pod{underscores}.slice"), format!("crio-{ID}.scope")),
        (
            format!("kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{underscores}.slice"),
            format!("cri-containerd-{ID}.scope"),
        ),
        (format!("kubepods/besteffort/pod{UID}"), ID.to_string()),
    ] {
        let tree = pod(v2(), &cgroup, &container, &format!("shop_web-7d9f_{UID}"));
        for asked in [UID, &UID[..8], &UID.to_uppercase(), &underscores, "web-7d9f", "shop/web-7d9f"] {
            let found = find(&Root::from_tree(tree.clone()), asked).unwrap();
            assert_eq!(found.pids, [31, 32, 30], "the holder of the namespaces is last: {cgroup}, {asked}");
            assert_eq!((found.unit, found.cgroup), (None, Some(format!("{V2}/{cgroup}"))));
        }
        for asked in [&UID[..7], "0f2c4a7f", "web", "web-7d9", "store/web-7d9f", "shop/", "shop/web-7d9f/x"] {
            assert_eq!(refused(&tree, asked).class, Class::MachineLacks, "{asked}");
        }
        assert_eq!(pids(&tree, &ID[..12]), [31, 32], "its container alone");
    }
}

#[test]
fn a_name_of_pods_in_several_namespaces_gives_a_list_to_choose_from() {
    let other = UID.replace("0f2c", "77aa");
    let tree = pod(
        web(v2()),
        &format!("kubepods.slice/kubepods-pod{}.slice", other.replace('-', "_")),
        "c",
        &format!("test_web-7d9f_{other}"),
    );
    let fault = refused(&tree, "web-7d9f");
    assert_eq!(fault.class, Class::Usage);
    assert!(
        fault.cause.contains(&format!("pod shop/web-7d9f ({UID}), pod test/web-7d9f ({other})")),
        "{fault}"
    );
    assert_eq!(pids(&tree, "shop/web-7d9f"), [31, 32, 30]);
}

#[test]
fn pods_that_have_ended_and_folders_of_another_form() {
    let old = UID.replace("0f2c", "1111");
    let tree = web(v2())
        .dir(&format!("/var/log/pods/shop_web-7d9f_{old}"))
        .dir("/var/log/pods/x")
        .dir("/var/log/pods/__")
        .dir("/var/log/pods/a_b_c_d");
    assert_eq!(pids(&tree, "web-7d9f"), [31, 32, 30], "the one before it has logs and no cgroup");
    assert_eq!(refused(&tree, &old).class, Class::MachineLacks);
    assert!(
        refused(&tree, "web-7d9e").remedy.contains("similar names: web-7d9f;"),
        "{}",
        refused(&tree, "web-7d9e")
    );
    let no_logs = web(v2()).denied("/var/log/pods");
    assert_eq!(pids(&no_logs, UID), [31, 32, 30]);
    assert_eq!(refused(&no_logs, "web-7d9f").class, Class::MachineLacks);
    let fixed = "8d5f0c8a7e1b2c3d4e5f60718293a4b5";
    let fixed_pod = pod(
        v2(),
        &format!("kubepods.slice/kubepods-pod{fixed}.slice"),
        "c",
        &format!("kube-system_etcd-node1_{fixed}"),
    );
    assert_eq!(pids(&fixed_pod, "kube-system/etcd-node1"), [31, 32, 30], "a static pod has a hash for a UID");
    let unit = web(v2()).file(&format!("{V2}/system.slice/web-7d9f.service/cgroup.procs"), "77\n");
    assert_eq!(pids(&unit, "web-7d9f"), [77], "a unit is nearer");
}

/// A guest of QEMU with a child.
fn guest(tree: Tree, pid: u32, cgroup: &str) -> Tree {
    let child = pid + 1;
    tree.file(&format!("/proc/{pid}/stat"), stat(pid, "qemu-system-x86", 1, 0))
        .file(&format!("/proc/{child}/stat"), stat(child, "passt", pid, 0))
        .file(&format!("/proc/{pid}/task/{pid}/stat"), stat(pid, "CPU 0/KVM", 1, 0))
        .file(&format!("/proc/{pid}/task/{pid}/status"), "Cpus_allowed_list:\t0\n")
        .file(&format!("/proc/{pid}/cgroup"), cgroup)
}

#[test]
fn guests_by_the_name_in_their_cgroup_or_on_their_own_command_line() {
    let tree = guest(v2(), 500, "0::/machine.slice/machine-qemu\\x2d3\\x2ddb\\x2d1.scope\n");
    assert_eq!(pids(&tree, "db-1"), [500, 501]);
    let root = |name: &str| Root::from_tree(guest(v2(), 600, "0::/\n")).with_fact("guest_name 600", name);
    let found = find(&root("test1"), "test1").unwrap();
    assert_eq!((found.pids, found.unit, found.cgroup), (vec![600, 601], None, None));
    let fault = find(&root("test1"), "test2").unwrap_err();
    assert!(fault.remedy.contains("similar names: test1;"), "{fault}");
    assert_eq!(
        find(&root("nginx"), "nginx").unwrap().unit.as_deref(),
        Some("nginx.service"),
        "a unit is nearer"
    );
}

#[test]
fn a_guest_that_has_forked_is_one() {
    let tree = guest(guest(v2(), 600, "0::/\n"), 601, "0::/\n")
        .file("/proc/601/stat", stat(601, "qemu-system-x86", 600, 0));
    let root =
        Root::from_tree(tree).with_fact("guest_name 600", "test1").with_fact("guest_name 601", "test1");
    assert_eq!(find(&root, "test1").unwrap().pids, [600, 601, 602]);
}

#[test]
fn a_name_of_several_guests_or_of_a_guest_and_a_container_names_them() {
    let cgroup = "0::/machine.slice/machine-qemu\\x2d3\\x2dweb.scope\n";
    let two = guest(guest(v2(), 500, cgroup), 600, cgroup);
    let fault = refused(&two, "web");
    assert!(
        fault.class == Class::Usage && fault.cause.contains("process 500, guest of process 600"),
        "{fault}"
    );
    let both = guest(v2(), 500, cgroup).file(&format!("{V2}/lxc.payload.web/cgroup.procs"), "30\n");
    let fault = refused(&both, "web");
    assert!(fault.cause.contains("lxc /lxc.payload.web, guest of process 500"), "{fault}");
    let alone = v2().file(&format!("{V2}/lxc.payload.web/cgroup.procs"), "30\n");
    assert_eq!(pids(&alone, "web"), [30]);
}

#[test]
fn distances_between_words() {
    assert_eq!((distance("nginx", "nginx"), distance("ngnix", "nginx"), distance("", "abc")), (0, 2, 3));
    assert_eq!(distance("slapd", "slap"), 1);
}

proptest::proptest! {
    #[test]
    fn no_name_makes_it_panic(asked in ".{0,20}", word in "[a-z@.]{0,12}") {
        let _ = find(&Root::from_tree(v2()), &asked);
        let _ = find(&Root::from_tree(v2()), &word);
    }
}
