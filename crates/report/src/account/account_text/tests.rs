use advise::diagnosis::judge;
use probe::Situation;

use super::*;

/// The sheet of an account, judged as that of a ring is.
fn sheet_of(account: &Account, title: &str, wanted: Wanted) -> String {
    let situation = Situation::of_account(title, Vec::new(), account.clone());
    render(account, &judge(&situation), title, wanted)
}

#[test]
fn an_empty_account_is_rendered_without_empty_tables() {
    let text = sheet_of(&Account::default(), "all CPUs", Wanted::default());
    assert!(text.starts_with("all CPUs, 0.0 s\n"), "{text}");
    assert!(!text.contains("Devices") && !text.contains("Not known"), "{text}");
}

#[test]
fn of_many_cpus_those_with_most_are_shown_and_the_others_counted() {
    use probe::account::{CpuAccount, Interruptions, Source, Stretches};
    let cpu = |cpu: u32| {
        let all = Stretches { count: 1, total_ns: 1_000 * u64::from(cpu), ..Stretches::default() };
        let seen = Interruptions { all, ..Interruptions::default() };
        CpuAccount {
            cpu,
            wall_ns: 1_000_000,
            interrupted_ns: 1_000 * u64::from(cpu),
            sources: [(Source::Tick, seen)].into_iter().collect(),
            ..CpuAccount::default()
        }
    };
    let account = Account { cpus: (0..100).map(cpu).collect(), ..Account::default() };
    let shown = |all: bool| sheet_of(&account, "all CPUs", Wanted { all, ..Wanted::default() });
    let text = shown(false);
    assert!(
        text.contains("and 88 more CPUs (--full)") && text.contains("and 97 more sources on other CPUs"),
        "{text}"
    );
    let cpus: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "CPUs, busiest first (tasks and interrupts)")
        .skip(2)
        .take(12)
        .collect();
    assert!(cpus[0].trim_start().starts_with("99 ") && cpus[11].trim_start().starts_with("88 "), "{cpus:#?}");
    assert!(!shown(true).contains("(--full)"));
}

#[test]
fn without_a_target_many_cpus_are_ranked_by_how_busy_they_are_also_where_all_are_shown() {
    use probe::account::CpuAccount;
    let cpu = |cpu: u32| CpuAccount {
        cpu,
        wall_ns: 1_000,
        other_ns: if cpu == 7 { 900 } else { 10 },
        interrupted_ns: if cpu == 15 { 500 } else { 0 },
        ..CpuAccount::default()
    };
    let first = |cpus: u32, all: bool| {
        let account = Account { cpus: (0..cpus).map(cpu).collect(), ..Account::default() };
        let text = sheet_of(&account, "all CPUs", Wanted { all, ..Wanted::default() });
        let rows = text.lines().skip_while(|line| !line.starts_with("CPUs")).skip(2).take(2);
        rows.map(|row| row.split_whitespace().next().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(first(16, false), ["7", "15"]);
    assert_eq!(first(16, true), ["7", "15"]);
    assert_eq!(first(8, false), ["0", "1"]);
}

/// One thread that waited 900 ns of 1,000; nobody is named for it.
fn waited(missing: Vec<machine::Missing>) -> Account {
    use probe::account::{Stretches, ThreadAccount};
    let run_queue = Stretches { count: 1, total_ns: 900, ..Stretches::default() };
    let on_cpu = Stretches { count: 1, total_ns: 100, ..Stretches::default() };
    let thread = ThreadAccount { wall_ns: 1_000, on_cpu, run_queue, ..ThreadAccount::default() };
    Account { together: Some(thread.clone()), threads: vec![thread], missing, ..Account::default() }
}

#[test]
fn what_is_slept_for_stands_below_all_sleep_the_longest_first() {
    use probe::account::{Part, SleepReason, Stretches, ThreadAccount};
    let asleep = Stretches { count: 4, total_ns: 620, ..Stretches::default() };
    let part = |count, total_ns| Part { count, total_ns };
    let asleep_for = [
        (SleepReason::Futex, part(1, 20)),
        (SleepReason::Input, part(2, 500)),
        (SleepReason::Stopped, part(1, 100)),
    ];
    let thread = ThreadAccount { wall_ns: 1_000, asleep, ..ThreadAccount::default() };
    let sheet = |thread: ThreadAccount| {
        let account = Account { together: Some(thread.clone()), threads: vec![thread], ..Account::default() };
        sheet_of(&account, "process 7", Wanted::default())
    };
    let text = sheet(ThreadAccount { asleep_for: asleep_for.into(), ..thread.clone() });
    let rows: Vec<String> = text
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("asleep"))
        .take(5)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert!(rows[0].starts_with("asleep 620 ns"), "{text}");
    assert!(rows[1].starts_with("for input 500 ns") && rows[1].ends_with(" 2 250 ns"), "{text}");
    assert!(rows[2].starts_with("stopped or frozen 100 ns"), "{text}");
    assert!(rows[3].starts_with("for a futex (lock, condition) 20 ns"), "{text}");
    assert!(rows[4].starts_with("migrations"), "{text}");
    // A ring of before does not say.
    assert!(!sheet(thread).contains("for input"));
}

#[test]
fn the_verdict_says_what_nobody_is_named_for() {
    let cpus = machine::CpuSet::from_list("2-3").unwrap();
    let text = sheet_of(&waited(vec![Account::elsewhere(&cpus)]), "process 7", Wanted::default());
    assert!(text.contains("900 ns of that was taken on CPUs other than those of --cpu"), "{text}");
    assert!(text.contains("Not known") && text.contains("CPUs 2-3 only (--cpu)"), "{text}");
    let text = sheet_of(&waited(Vec::new()), "process 7", Wanted::default());
    assert!(text.contains("900 ns of that was taken by slices that have not ended"), "{text}");
}

#[test]
fn lengths_of_nothing_have_a_row_and_no_empty_ones_after_it() {
    use probe::account::{Distribution, ThreadAccount};
    let lengths: Distribution = serde_json::from_str("[[0,3],[44,5],[52,1]]").unwrap();
    let all = ThreadAccount { on_cpu_lengths: lengths, wall_ns: 1, ..ThreadAccount::default() };
    let text = section(&Account { together: Some(all), ..Account::default() }, Section::Lengths, 12);
    let rows: Vec<&str> = text.lines().skip(1).map(str::trim_start).collect();
    assert!(rows[0].starts_with("0 ns") && rows[0].contains(" 3 "), "{text}");
    assert!(rows[1].starts_with("from 2.05 us") && rows[1].contains(" 5 "), "{text}");
    assert!(rows[2].starts_with("from 4.10 us") && rows[2].contains(" 0"), "a gap is a fact: {text}");
    assert_eq!(rows.len(), 4, "{text}");
}

#[test]
fn what_is_counted_only_is_marked_so() {
    use probe::account::CountedInterrupts;
    let of = |cpu: u32, count: u64| CountedInterrupts {
        cpu,
        name: "LOC".into(),
        label: "Local timer interrupts".into(),
        count,
    };
    let shown = |counted_only: Vec<CountedInterrupts>| {
        let account = Account { window_s: 2.0, counted_only, ..Account::default() };
        sheet_of(&account, "all CPUs", Wanted::default())
    };
    let text = shown(vec![of(0, 2_000), of(1, 30)]);
    let mut lines =
        text.lines().skip_while(|line| *line != "By /proc/interrupts: how often, not how long").skip(2);
    let words =
        |line: Option<&str>| line.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(lines.next()), "2,000 1,000 0 LOC Local timer interrupts", "{text}");
    assert_eq!(words(lines.next()), "30 15 1 LOC Local timer interrupts", "{text}");
    let many = shown((0..100).map(|cpu| of(cpu, u64::from(cpu))).collect());
    assert!(
        many.contains("and 88 more counts on other CPUs (--full)") && many.contains(" 99  LOC"),
        "{many}"
    );
    assert!(!shown(Vec::new()).contains("/proc/interrupts"));
}

/// As a forged ring has them.
#[test]
fn numbers_without_bound_are_shown() {
    use probe::account::{CpuAccount, Nearness, NodeShare, Stretches, Taker, TakerKind, ThreadAccount};
    let share = NodeShare { memory_bytes: u64::MAX, on_cpu_ns: u64::MAX };
    let nearness = Nearness { nodes: [(0, share), (1, share)].into(), expected_remote_share: Some(f64::MAX) };
    let most = Stretches { count: u64::MAX, total_ns: u64::MAX, ..Stretches::default() };
    let together =
        ThreadAccount { on_cpu: most, preempted: most, interrupted_ns: u64::MAX, ..ThreadAccount::default() };
    let cpu = |cpu: u32| CpuAccount {
        cpu,
        wall_ns: u64::MAX,
        other_ns: u64::MAX,
        interrupted_ns: u64::MAX,
        ..CpuAccount::default()
    };
    let taker = Taker {
        kind: TakerKind::Unknown,
        name: "x".into(),
        cpus: machine::CpuSet::single(u32::MAX),
        count: u64::MAX,
        took_ns: u64::MAX,
        longest_ns: None,
        longest_at_most_ns: None,
        share: f64::MAX,
    };
    let account = Account {
        takers: vec![taker; 5],
        cpus: (0..40).map(cpu).collect(),
        nearness: Some(nearness),
        window_s: f64::MAX,
        ..Account::default()
    };
    for account in [account.clone(), Account { together: Some(together), ..account }] {
        let text = sheet_of(&account, "", Wanted::default());
        assert!(text.contains("and 28 more CPUs"), "{text}");
    }
}

#[test]
fn requests_are_the_lines_that_diagnose_has_below_what_the_server_had() {
    use advise::diagnosis::requests::{AcceptQueue, PortFigures, ServerRequests, Times};
    use probe::requests::{Counted, Endpoint};
    let times = Some(Times { mean_us: 20.0, median_us: Some(12.0), p99_us: Some(85.0) });
    let port = |port| PortFigures {
        at: Endpoint::Port(port),
        per_s: 12_340.0,
        read: 24_680,
        answered: 24_680,
        waited: times,
        served: times,
        counted: Some(Counted::Requests),
        overlapping_share: Some(0.0),
        continued_share: Some(0.0),
        rewritten_share: Some(0.0),
        accept_queue: Some(AcceptQueue { waiting: 7, limit: Some(128) }),
        peers: Vec::new(),
    };
    let requests = |ports| Some(ServerRequests { window_s: 2.0, ports, missing: Vec::new() });
    let seen = Diagnosis { requests: requests(vec![port(80), port(443)]), ..Diagnosis::default() };
    let text = render(&waited(Vec::new()), &seen, "process 7", Wanted::default());
    let rows = |text: &str| -> Vec<String> {
        text.lines().skip_while(|line| !line.starts_with("  requests: ")).take(4).map(String::from).collect()
    };
    assert_eq!(rows(&text), rows(&diagnosis_text::render(&seen, "process 7", Wanted::default())), "{text}");
    let before = text.lines().take_while(|line| !line.starts_with("  requests: ")).last();
    assert!(before.is_some_and(|line| line.starts_with("It wanted CPUs for ")), "{text}");
    assert!(text.contains("/s on port 80; wait in the socket 12.0 us median") && text.contains("7 of 128"));
    let nobody_asks = Diagnosis { requests: requests(Vec::new()), ..Diagnosis::default() };
    let text = render(&waited(Vec::new()), &nobody_asks, "process 7", Wanted::default());
    assert!(!text.contains("requests: "), "{text}");
}
