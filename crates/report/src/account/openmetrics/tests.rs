use machine::{CpuSet, Missing};
use probe::account::{
    CpuAccount, Distribution, FromIdle, Interruptions, Migrations, Part, SleepReason, Source, Stretches,
    Taker, TakerKind, ThreadAccount,
};

use super::grammar::{Sample, read, sample};
use super::*;

fn stretches(count: u64, total_ns: u64) -> Stretches {
    Stretches { count, total_ns, ..Stretches::default() }
}

/// Steps by their number, each with how many.
fn lengths(steps: &str) -> Distribution {
    serde_json::from_str(steps).unwrap()
}

fn thread() -> ThreadAccount {
    ThreadAccount {
        tid: 8,
        comm: "worker-1".into(),
        on_cpu: stretches(3, 2_000_000),
        interrupted_ns: 500_000,
        preempted: stretches(1, 1_000_000),
        run_queue: stretches(2, 3_000),
        asleep: stretches(2, 1_500_000_000),
        asleep_for: [(SleepReason::Input, Part { count: 2, total_ns: 1_500_000_000 })].into(),
        migrations: Migrations { same_core: 1, ..Migrations::default() },
        from_idle: vec![FromIdle {
            state: 1,
            name: Some("C1".into()),
            exit_latency_us: None,
            count: 1,
            total_ns: 2_000,
        }],
        on_cpu_lengths: lengths("[[76,3]]"),
        off_cpu_lengths: lengths("[[40,2],[78,1]]"),
        ..ThreadAccount::default()
    }
}

fn taker(name: &str, took_ns: u64) -> Taker {
    Taker {
        kind: TakerKind::Process,
        name: name.into(),
        cpus: CpuSet::new(),
        count: 1,
        took_ns,
        longest_ns: None,
        longest_at_most_ns: None,
        share: 0.5,
    }
}

fn interval() -> Account {
    let tick = Interruptions {
        all: stretches(4, 1_000_000),
        lengths: lengths("[[70,4]]"),
        ..Interruptions::default()
    };
    let cpu = CpuAccount {
        cpu: 3,
        wall_ns: 2_000_000_000,
        target_ns: 2_000_000,
        other_ns: 1_000_000,
        idle_ns: 1_996_000_000,
        interrupted_ns: 1_000_000,
        switches: 7,
        sources: [(Source::Tick, tick)].into_iter().collect(),
        ..CpuAccount::default()
    };
    Account {
        from_ns: 5_000_000_000,
        to_ns: 7_000_000_000,
        threads: vec![thread()],
        takers: vec![taker("a \"thief\" (process 9)", 1_000_000)],
        cpus: vec![cpu],
        missing: vec![Missing::new("frequencies of CPUs", "no driver reports them")],
        ..Account::default()
    }
}

fn exposition(intervals: &[Account]) -> Exposition {
    let about = About { version: "1.2.3".into(), target: "nginx".into(), means: "tp_btf".into() };
    let mut exposition = Exposition::of(about);
    for interval in intervals {
        let lost = [("device_lines", 0), ("threads", 2)].into();
        exposition.add(Seen { interval, lost: &lost, own_cpu_ns: 12_000_000 });
    }
    exposition
}

fn samples(exposition: &Exposition) -> Vec<Sample> {
    let text = exposition.render(Form::OpenMetrics);
    read(&text).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// The value of a sample with these labels among its own.
fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let has = |sample: &&Sample| {
        let mut all = labels.iter();
        sample.name == name
            && all.all(|(label, value)| sample.labels.get(*label).map(String::as_str) == Some(*value))
    };
    samples.iter().find(has).map(|sample| sample.value)
}

#[test]
fn an_interval_reads_as_it_is_written_down() {
    let text = exposition(&[interval()]).render(Form::OpenMetrics);
    assert_eq!(text, include_str!("golden.txt"));
    read(&text).unwrap();
}

#[test]
fn before_anything_was_counted_there_is_no_server_and_no_zero_of_it() {
    let text = exposition(&[]).render(Form::OpenMetrics);
    assert!(!text.contains("pinwise_server") && !text.contains("pinwise_wait"), "{text}");
    assert_eq!(value(&read(&text).unwrap(), "pinwise_watched_seconds_total", &[]), Some(0.0));
}

#[test]
fn no_counter_goes_down_when_threads_end_and_takers_go() {
    let ended = ThreadAccount { ended: true, ..thread() };
    let second = Account {
        from_ns: 7_000_000_000,
        to_ns: 9_000_000_000,
        threads: vec![ended],
        takers: vec![taker("another (process 10)", 5)],
        ..interval()
    };
    let third = Account { from_ns: 9_000_000_000, to_ns: 11_000_000_000, ..Account::default() };
    let all = [interval(), second, third];
    let pages: Vec<Vec<Sample>> = (0..=all.len()).map(|first| samples(&exposition(&all[..first]))).collect();
    for pair in pages.windows(2) {
        for before in pair[0].iter().filter(|sample| !sample.name.contains("_info")) {
            let now = pair[1].iter().find(|now| (&now.name, &now.labels) == (&before.name, &before.labels));
            let now = now.unwrap_or_else(|| panic!("{before:?} is gone"));
            let goes_down = before.name == "pinwise_server_threads";
            assert!(goes_down || now.value >= before.value, "{before:?}, then {now:?}");
        }
    }
    let last = &pages[3];
    assert_eq!(value(last, "pinwise_server_time_seconds_total", &[("state", "asleep")]), Some(3.0));
    assert_eq!(value(last, "pinwise_server_threads", &[]), Some(0.0));
    assert_eq!(value(last, "pinwise_watched_seconds_total", &[]), Some(6.0));
    assert_eq!(value(last, "pinwise_lost_events_total", &[("what", "threads")]), Some(2.0));
}

#[test]
fn of_very_many_takers_fifty_have_a_name() {
    let names: Vec<String> = (0..1_000).map(|n| format!("p (process {n})")).collect();
    let takers = names.iter().map(|name| taker(name, 1_000_000_000)).collect();
    let samples = samples(&exposition(&[Account { takers, ..interval() }]));
    let named: Vec<&Sample> =
        samples.iter().filter(|sample| sample.name == "pinwise_taker_seconds_total").collect();
    assert_eq!(named.len(), 51);
    assert_eq!(named.iter().map(|sample| sample.value).sum::<f64>(), 1_000.0);
    assert_eq!(value(&samples, "pinwise_taker_seconds_total", &[("name", "other")]), Some(950.0));
}

#[test]
fn without_a_target_a_cpu_has_no_time_of_a_server() {
    let samples = samples(&exposition(&[Account { threads: Vec::new(), ..interval() }]));
    let of = |used| value(&samples, "pinwise_cpu_time_seconds_total", &[("cpu", "3"), ("use", used)]);
    assert_eq!((of("server"), of("other_tasks")), (None, Some(0.001)));
}

#[test]
fn the_form_of_before_has_the_same_samples_and_names_families_like_them() {
    let exposition = exposition(&[interval()]);
    let text = exposition.render(Form::Prometheus);
    assert!(!text.contains("# EOF") && !text.contains("# UNIT"), "{text}");
    assert!(text.contains("# TYPE pinwise_server_time_seconds_total counter\n"), "{text}");
    assert!(text.contains("# TYPE pinwise_build_info gauge\n"), "{text}");
    assert!(text.contains("# TYPE pinwise_wait_seconds histogram\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let all: Vec<Sample> = lines.map(|line| sample(line).unwrap()).collect();
    assert_eq!(all, samples(&exposition));
}

proptest::proptest! {
    #[test]
    fn any_name_stays_one_valid_line(names in proptest::collection::vec("(?s).{0,40}|[\\\\\"\n\r,={} ]{0,12}", 1..6)) {
        let threads = names.iter().map(|name| ThreadAccount { comm: name.clone(), ..thread() }).collect();
        let takers = names.iter().map(|name| taker(name, 7)).collect();
        let missing = names.iter().map(|name| Missing::new(name, "why")).collect();
        let mut exposition = exposition(&[Account { threads, takers, missing, ..interval() }]);
        exposition.about.target = names[0].clone();
        let all = read(&exposition.render(Form::OpenMetrics));
        proptest::prop_assert!(all.is_ok(), "{:?}", all);
        let all = all.unwrap();
        for name in &names {
            let shown = label_text::of_name(name);
            proptest::prop_assert!(value(&all, "pinwise_taker_seconds_total", &[("name", &shown)]).is_some());
        }
        let plain = exposition.render(Form::Prometheus);
        for line in plain.lines().filter(|line| !line.starts_with('#')) {
            proptest::prop_assert!(sample(line).is_ok(), "{}", line);
        }
    }
}
