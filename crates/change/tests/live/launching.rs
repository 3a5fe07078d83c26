//! Launches on the running system.

use super::*;

#[test]
fn a_launched_process_runs_where_it_is_placed_and_its_output_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let allowed = LiveKernel::new().affinity(std::process::id(), std::process::id()).unwrap();
    let cpu = allowed.last().unwrap();
    let script = "grep Cpus_allowed_list /proc/self/status; echo $COLOUR; pwd; echo oops >&2; exit 3";
    let mut launched = hand
        .launch(&Launch {
            cpus: Some(CpuSet::single(cpu)),
            env: vec![("COLOUR".into(), "green".into())],
            cwd: Some("/".into()),
            stdout: Stdout::Piped,
            ..launch(&["sh", "-c", script], dir.path())
        })
        .unwrap();
    let mut text = String::new();
    launched.take_stdout().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, format!("Cpus_allowed_list:\t{cpu}\ngreen\n/\n"));
    eventually("the end", || launched.try_wait().unwrap().is_some());
    assert_eq!(exit_words(launched.try_wait().unwrap().unwrap()), "exited with code 3");
    assert_eq!(std::fs::read_to_string(dir.path().join("log")).unwrap(), "oops\n");
    assert_eq!(hand.undo_all()[0].how, How::Gone);
}

#[test]
fn signals_are_as_a_program_expects_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let mut launched =
        hand.launch(&launch(&["sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status"], dir.path())).unwrap();
    eventually("the end", || launched.try_wait().unwrap().is_some());
    let text = std::fs::read_to_string(dir.path().join("log")).unwrap();
    let masks = text
        .lines()
        .map(|line| u64::from_str_radix(line.split_whitespace().next_back().unwrap(), 16).unwrap());
    // 32 and 33 belong to the C library, which lets nobody change them; we may have inherited them ignored.
    let left: Vec<u64> = masks.map(|mask| mask & !(0b11 << 31)).collect();
    assert_eq!(left, [0, 0], "{text}");
}

#[test]
fn stopping_is_gentle_first_and_reaches_the_whole_group() {
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let mut gentle = hand.launch(&launch(&["sleep", "1000"], dir.path())).unwrap();
    let ended = gentle.stop(Duration::from_secs(20)).unwrap();
    assert!(!ended.killed && ended.to_string().contains("SIGTERM"), "{ended}");

    let script = "trap '' TERM; sleep 1000 & setsid sleep 1000 & echo ready; while :; do sleep 1; done";
    let stubborn = Launch { stdout: Stdout::Piped, ..launch(&["sh", "-c", script], dir.path()) };
    let mut stubborn = hand.launch(&stubborn).unwrap();
    let mut ready = [0; 6];
    stubborn.take_stdout().unwrap().read_exact(&mut ready).unwrap();
    eventually("four processes, one in a session of its own", || stubborn.members().unwrap().len() >= 4);
    let members = stubborn.members().unwrap();
    let ended = stubborn.stop(Duration::from_millis(200)).unwrap();
    assert!(ended.killed && ended.to_string().contains("SIGKILL"), "{ended}");
    assert!(members.iter().all(|member| !LiveKernel::new().alive(member)));

    let dropped = hand.launch(&launch(&["sleep", "1000"], dir.path())).unwrap();
    let process = dropped.process();
    drop(dropped);
    assert!(!LiveKernel::new().alive(&process));
}

#[test]
fn a_launch_from_a_thread_that_ends_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_path_buf();
    let (hand, mut launched) = std::thread::spawn(move || {
        let mut hand = hand(&path);
        let launched = hand.launch(&launch(&["sleep", "1000"], &path)).unwrap();
        (hand, launched)
    })
    .join()
    .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert!(launched.try_wait().unwrap().is_none());
    drop(hand);
    eventually("the end with the hand", || launched.try_wait().unwrap().is_some());
}

#[test]
fn a_launch_from_a_confined_thread_is_not_confined() {
    let dir = tempfile::tempdir().unwrap();
    let (kernel, pid) = (LiveKernel::new(), std::process::id());
    let allowed = kernel.affinity(pid, pid).unwrap();
    let path = dir.path().to_path_buf();
    let one = CpuSet::single(allowed.first().unwrap());
    let launched = std::thread::spawn(move || {
        calling_thread::run_on(&one).unwrap();
        let mut hand = hand(&path);
        let launched = hand.launch(&launch(&["sleep", "1000"], &path)).unwrap();
        let pid = launched.process().pid;
        LiveKernel::new().affinity(pid, pid).unwrap()
    });
    assert_eq!(launched.join().unwrap(), allowed);
}

#[test]
fn a_launch_that_fails_names_the_step() {
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let script = dir.path().join("script");
    std::fs::write(&script, "true\n").unwrap();
    let script = script.to_str().unwrap();
    let base = launch(&["sleep", "1000"], dir.path());
    let elsewhere = |cpus: CpuSet| Launch { cpus: Some(cpus), ..base.clone() };
    let cases = [
        (launch(&["no-such-program-here"], dir.path()), "no such program"),
        (launch(&["/no/such/program"], dir.path()), "executing the program"),
        (launch(&[script], dir.path()), "executing the program"),
        (elsewhere(CpuSet::single(100_000)), "none of these CPUs"),
        (elsewhere([0, 100_000].into_iter().collect()), "only CPUs"),
        (Launch { cwd: Some("/no/such/folder".into()), ..base.clone() }, "changing the folder"),
        (Launch { netns: Some("no-such-netns".into()), ..base.clone() }, "No such file"),
        (Launch { netns: Some("../x".into()), ..base.clone() }, "not a valid name"),
        (Launch { log: "/no/such/folder/log".into(), ..base.clone() }, "No such file"),
        (Launch { argv: vec!["sleep".into(), "1\0".into()], ..base.clone() }, "zero byte"),
        (Launch { scheduling: Some(Scheduling::Fifo { priority: 500 }), ..base.clone() }, "priority"),
    ];
    for (launch, why) in cases {
        let fault = hand.launch(&launch).unwrap_err();
        assert!(fault.to_string().contains(why), "{fault} does not say '{why}'");
        assert!(!fault.remedy.is_empty(), "{fault}");
        assert_eq!(hand.outstanding().count(), 0, "{fault}");
    }
}

#[test]
fn a_launch_enters_its_network_namespace() {
    let Some(namespace) = Namespace::make() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let inside =
        Launch { netns: Some(namespace.0.clone()), ..launch(&["cat", "/proc/self/net/dev"], dir.path()) };
    let mut launched = hand.launch(&inside).unwrap();
    eventually("the end", || launched.try_wait().unwrap().is_some());
    let text = std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(text.contains("pin0:"), "{text}");
    let name = namespace.0.clone();
    let seen = std::thread::spawn(move || {
        calling_thread::enter_netns(&name).unwrap();
        std::fs::read_to_string("/proc/thread-self/net/dev").unwrap()
    });
    assert!(seen.join().unwrap().contains("pin0:"));
    assert_eq!(calling_thread::enter_netns("no-such-netns").unwrap_err().class, Class::MachineLacks);
}
