use machine::{Machine, Tree};

use super::*;
use crate::account::collect::cpu_group::Group;
use crate::account::collect::snapshot::Cpus;
use crate::account::{Account, ChangedCpu, CpuAccount, IntervalSum, Names, Offline, Snapshot};
use crate::bpf::{TakerKey, TakerSeen};

const MS: u64 = 1_000_000;
const BEGAN_NS: u64 = 1_000 * MS;
/// The thread that stops CPU 3.
const STOPPER: u32 = 21;

/// A moment so many ms after counting began.
fn at(ms: u64) -> u64 {
    BEGAN_NS + ms * MS
}

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

/// CPUs 0 to 3, and what the kernel's record of CPU 3 holds.
struct Played {
    absences: Absences,
    head: CpuHead,
    stopper: TakerSeen,
}

impl Played {
    fn with_online(list: &str) -> Self {
        let mut absences = Absences::of(set("0-3"), &set(list));
        absences.start(BEGAN_NS, |_| CpuHead::zeroed());
        Self { absences, head: CpuHead::zeroed(), stopper: TakerSeen::zeroed() }
    }

    /// CPU 3 is stopped at 2 s, and the look after that finds these online.
    fn stopped(online: &str) -> Self {
        let mut played = Self::with_online("0-3");
        played.look(1_950, "0-3");
        played.is_stopped();
        played.look(2_050, online);
        played
    }

    fn look(&mut self, ms: u64, online: &str) {
        let head = self.head;
        self.absences.see(set(online), at(ms), |_| head, || at(ms));
    }

    /// Idle since counting began; at 2 s the thread that stops the CPU gets it.
    fn is_stopped(&mut self) {
        self.head = CpuHead {
            switches: 10,
            idle_ns: 2_000 * MS,
            current_tid: STOPPER,
            switched_at_ns: at(2_000),
            ..self.head
        };
    }

    /// The account of all tasks, read after so long. CPU 0 does nothing.
    fn account(&self, ms: u64) -> Account {
        let mut group = Group::of(&[0, 3]);
        *group.head_mut(1) = self.head;
        group.set_at_ns(0, at(ms));
        group.set_at_ns(1, at(ms));
        let mut cpus = Cpus::with_room(1);
        cpus.push(&Arc::new(group), 0);
        let key = TakerKey { tid: STOPPER, cpu: 3 };
        let snapshot = Snapshot {
            began_ns: BEGAN_NS,
            at_ns: at(ms),
            cpus,
            takers: vec![(key, self.stopper)],
            absences: self.absences.by_cpu(),
            ..Snapshot::default()
        };
        Account::of(&snapshot, true, &Names::of(&Machine::default()), &[])
    }
}

fn row(account: &Account, cpu: u32) -> &CpuAccount {
    account.cpus.iter().find(|row| row.cpu == cpu).unwrap()
}

/// Tasks, idle, not known and offline, ms; the row adds up.
fn parts(account: &Account, cpu: u32) -> [u64; 4] {
    let row = row(account, cpu);
    assert_eq!(row.unaccounted_ns(), 0, "{row:?}");
    [row.other_ns, row.idle_ns, row.unknown_ns, row.offline_ns()].map(|ns| ns / MS)
}

fn stopper_ms(account: &Account) -> u64 {
    let task = account.tasks.iter().find(|task| task.tid == STOPPER);
    task.and_then(|task| task.on_cpu_ns).unwrap_or(0) / MS
}

#[test]
fn a_cpu_that_is_away_at_the_end_was_had_by_nobody() {
    let mut played = Played::stopped("0-2");
    played.look(5_950, "0-2");
    let account = played.account(6_000);
    assert_eq!(parts(&account, 3), [0, 2_000, 0, 4_000]);
    assert_eq!(parts(&account, 0), [0, 6_000, 0, 0]);
    assert_eq!((row(&account, 0).offline, stopper_ms(&account)), (None, 0));
    assert!(account.takers.is_empty(), "{:?}", account.takers);
    let (offline_ns, wall_ns) = (4_000 * MS, 6_000 * MS);
    assert_eq!(account.changed_cpus, [ChangedCpu { cpu: 3, offline_ns, wall_ns, left: 1, came: 0 }]);
}

#[test]
fn a_cpu_that_was_away_in_between_has_that_time_apart_wherever_it_was_booked() {
    let absence_ns = 3_000 * MS;
    let ways: [fn(&mut Played, u64); 3] = [
        |played, ns| played.head.idle_ns += ns,
        |played, ns| (played.head.unknown_ns, played.head.unreported) = (ns, 1),
        |played, ns| {
            (played.head.other_ns, played.head.unreported) = (ns, 1);
            (played.stopper.on_cpu_ns, played.stopper.slices) = (ns, 1);
        },
    ];
    for book in ways {
        let mut played = Played::stopped("0-2");
        played.look(4_950, "0-2");
        let away = played.account(4_950);
        book(&mut played, absence_ns);
        (played.head.switches, played.head.current_tid, played.head.switched_at_ns) = (11, 0, at(5_000));
        // Read before it was seen to be back, and after.
        let [unseen, seen] = [false, true].map(|is_seen| {
            if is_seen {
                played.look(5_050, "0-3");
            }
            played.account(6_000)
        });
        for account in [&unseen, &seen] {
            assert_eq!(parts(account, 3), [0, 3_000, 0, 3_000]);
            assert_eq!(row(account, 3).offline, Some(Offline { total_ns: absence_ns, left: 1, came: 1 }));
            assert_eq!((stopper_ms(account), row(account, 3).untold_switches), (0, 0));
            assert!(account.takers.is_empty(), "{:?}", account.takers);
        }
        let last = seen.since(&away);
        assert_eq!(parts(&last, 3), [0, 1_000, 0, 50]);
        let mut whole = IntervalSum::default();
        whole.add(away);
        whole.add(last);
        assert_eq!(parts(&whole.account(), 3), [0, 3_000, 0, 3_000]);
    }
}

#[test]
fn a_cpu_that_came_and_left_again_between_two_looks_was_offline_twice() {
    let mut played = Played::stopped("0-2");
    played.look(2_990, "0-2");
    // It is back at 3 s, and stopped again at 3.04 s.
    (played.head.idle_ns, played.head.switches) = (3_040 * MS, 13);
    played.head.switched_at_ns = at(3_040);
    played.look(3_090, "0-2");
    played.look(5_950, "0-2");
    let account = played.account(6_000);
    assert_eq!(parts(&account, 3), [0, 2_000, 0, 4_000]);
    assert_eq!(row(&account, 3).offline, Some(Offline { total_ns: 4_000 * MS, left: 2, came: 1 }));
    assert!(account.takers.is_empty(), "{:?}", account.takers);
}

#[test]
fn siblings_that_leave_together_are_each_seen() {
    // Control of SMT takes the second thread of each core offline.
    let played = Played::stopped("0,2");
    assert_eq!(played.absences.by_cpu().keys().copied().collect::<Vec<_>>(), [1, 3]);
    assert_eq!(parts(&played.account(6_000), 3), [0, 2_000, 0, 4_000]);
}

#[test]
fn in_a_window_of_no_length_nothing_is_divided() {
    let mut played = Played::with_online("0-3");
    played.look(0, "0-2");
    let account = played.account(0);
    assert_eq!(row(&account, 3).offline, Some(Offline { total_ns: 0, left: 1, came: 0 }));
    assert_eq!((row(&account, 3).online_ns(), account.window_s), (0, 0.0));
    let nothing = account.since(&account);
    assert_eq!(parts(&nothing, 3), [0, 0, 0, 0]);
    assert!(nothing.changed_cpus.is_empty(), "{:?}", nothing.changed_cpus);
}

#[test]
fn a_cpu_that_comes_has_a_row_from_then_on() {
    let mut played = Played::with_online("0-2");
    played.look(2_950, "0-2");
    let before = played.account(3_000);
    assert!(before.cpus.iter().all(|row| row.cpu != 3) && before.changed_cpus.is_empty());
    // Its first switch takes it for idle since counting began; then a task has it.
    played.head = CpuHead {
        switches: 1,
        idle_ns: 4_000 * MS,
        current_tid: 30,
        switched_at_ns: at(4_000),
        ..played.head
    };
    played.look(4_050, "0-3");
    let account = played.account(6_000);
    assert_eq!(parts(&account, 3), [2_000, 0, 0, 4_000]);
    assert_eq!(account.changed_cpus[0].came, 1);
    let last = account.since(&before);
    assert_eq!(parts(&last, 3), [2_000, 0, 0, 1_000]);
    assert_eq!(last.changed_cpus[0].wall_ns, 3_000 * MS);
}

#[test]
fn a_cpu_that_stays_online_keeps_its_time() {
    let mut played = Played::with_online("0-3");
    played.is_stopped();
    for ms in [2_050, 4_000, 5_950] {
        played.look(ms, "0-3");
    }
    // The same record: the thread that stops CPUs has it for as long, and others wait until it is done.
    let account = played.account(6_000);
    assert_eq!(parts(&account, 3), [4_000, 2_000, 0, 0]);
    assert_eq!((stopper_ms(&account), account.takers.len()), (4_000, 1));
    assert!(account.changed_cpus.is_empty() && row(&account, 3).offline.is_none());
}

#[test]
fn the_beginning_is_no_later_than_it_is_seen_where_no_switch_says_it() {
    let mut played = Played::with_online("0-3");
    // Slices of tasks of no concern are one: the switch to the thread that stops the CPU has no time of its own.
    played.head = CpuHead { switches: 9, current_tid: STOPPER, switched_at_ns: at(500), ..played.head };
    played.look(1_950, "0-3");
    played.head.switches = 10;
    played.look(2_050, "0-2");
    assert_eq!(row(&played.account(6_000), 3).offline_ns(), 4_050 * MS);
}

#[test]
fn which_are_online_is_missing_where_it_cannot_be_read() {
    let mut absences = Absences::of(set("0-3"), &set("0-3"));
    assert_eq!(absences.read(&Root::from_tree(Tree::new())), None);
    let missing = absences.missing().unwrap();
    assert!(missing.fact.contains("offline") && missing.why.contains("online"), "{missing:?}");
    let online = |list: &str| Tree::new().file("/sys/devices/system/cpu/online", list);
    for odd in ["", "\n", "2-", "0,x"] {
        assert_eq!(absences.read(&Root::from_tree(online(odd))), None, "{odd:?}");
    }
    let tree = online("0,2\n");
    assert_eq!(absences.read(&Root::from_tree(tree)), Some(set("0,2")));
}

#[test]
fn a_cpu_for_which_there_is_no_room_is_missing_and_no_absence() {
    let mut absences = Absences::of(set("0-3"), &set("0-3,9"));
    let tree = Tree::new().file("/sys/devices/system/cpu/online", "0-3,9\n");
    let online = absences.read(&Root::from_tree(tree)).unwrap();
    assert_eq!(online, set("0-3"));
    let missing = absences.missing().unwrap();
    assert!(missing.fact.contains("CPU 9") && missing.why.contains("no room"), "{missing:?}");
    absences.start(BEGAN_NS, |_| CpuHead::zeroed());
    absences.see(set("0-3"), at(100), |_| CpuHead::zeroed(), || at(100));
    assert!(absences.by_cpu().is_empty());
}
