use super::*;

#[test]
fn times_have_three_digits_and_their_unit() {
    let told = [940, 12_345, 1_200_000, 3_050_000_000, 123_456].map(time);
    assert_eq!(told, ["940 ns", "12.3 us", "1.20 ms", "3.05 s", "123 us"]);
}

#[test]
fn nothing_and_little_are_told_apart() {
    assert_eq!(percent(0, 10), "0 %");
    assert_eq!(percent(1, 1_000_000), "<0.01 %");
    assert_eq!(percent(5, 100), "5.00 %");
    assert_eq!(percent(50, 100), "50.0 %");
}

#[test]
fn an_empty_account_is_rendered_without_empty_tables() {
    let text = render(&Account::default(), "all CPUs", Wanted::default());
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
    let shown = |all: bool| render(&account, "all CPUs", Wanted { all });
    let text = shown(false);
    assert!(
        text.contains("and 88 more CPUs (--full)") && text.contains("and 97 more sources on other CPUs"),
        "{text}"
    );
    let cpus: Vec<&str> = text.lines().skip_while(|line| *line != "CPUs").skip(2).take(12).collect();
    assert!(cpus[0].trim_start().starts_with("99 ") && cpus[11].trim_start().starts_with("88 "), "{cpus:#?}");
    assert!(!shown(true).contains("(--full)"));
}
