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
