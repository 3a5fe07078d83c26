use proptest::prelude::*;

use super::read::{DEEPEST, LONGEST};
use super::*;

fn wrong(text: &str) -> (usize, String) {
    let wrong = parse(text).unwrap_err();
    (wrong.at, wrong.why)
}

#[test]
fn what_is_wrong_has_its_position() {
    for (text, at, why) in [
        ("", 0, "names no CPU"),
        (" , ,", 0, "names no CPU"),
        ("0-3, three", 5, "'three' is neither a number nor a word"),
        ("node:0 & ", 8, "a word is missing"),
        ("node:0 && smt:0", 8, "a word is missing"),
        ("0,!", 3, "a word is missing"),
        ("l3", 0, "which l3? Write l3:0"),
        ("all,node:", 4, "which node?"),
        ("3-1", 0, "range 3-1 runs backwards"),
        ("N-1", 0, "runs backwards"),
        ("0-", 2, "a number is missing"),
        ("0,0-9:3/2", 6, "0 < USED <= GROUP"),
        ("0-9:0/2", 4, "0 < USED <= GROUP"),
        ("0-9:1", 4, "not USED/GROUP"),
        ("node:x", 5, "'x' is not a number"),
        ("99999999", 0, "past"),
        ("kind:per formance", 5, "not a name of a kind"),
        ("!!0", 1, "'!0' is neither"),
        ("all:0", 0, "'all' is neither"),
        ("Node:0", 0, "'Node' is neither"),
        ("l9:0", 0, "'l9' is neither"),
        ("(node:0", 0, "is not closed"),
        ("all,!((0)", 5, "is not closed"),
        ("node:0)", 6, "closes none"),
        ("0)(1", 1, "closes none"),
        ("()", 1, "nothing stands in these"),
        ("all,!( , )", 7, "nothing stands in these"),
        ("(0,1) 2", 6, "a comma or & is missing"),
        ("(0)(1)", 3, "a comma or & is missing"),
        ("(0,) & (1 & )", 11, "a word is missing"),
        ("(node:0,(l3:0 & x))", 16, "'x' is neither"),
        ("node:(0)", 5, "'(0)' is not a number"),
        ("0(1)", 0, "'0(1)' is not a number"),
        ("!!(0)", 1, "'!(0)' is neither"),
    ] {
        let (position, cause) = wrong(text);
        assert!(position == at && cause.contains(why), "{text}: {position}: {cause}");
    }
}

#[test]
fn the_size_of_a_text_is_bounded() {
    assert!(wrong(&"0,".repeat(LONGEST)).1.contains("at most are read"));
    assert!(wrong(&"0-1048575,".repeat(6_000)).1.contains("overlap too often"));
    parse("0-1048575,0-1048575").unwrap();
    assert!(wrong(&"core:0-N & ".repeat(300)).1.contains("a word is missing"));
    assert!(wrong(&"core:0-N,".repeat(300)).1.contains("more than 256 words"));
    parse(&"7,".repeat(4_096)).unwrap();
    assert!(wrong(&"(0),".repeat(300)).1.contains("more than 256 words"));
    assert!(wrong(&"(!(0-1048575)),".repeat(5)).1.contains("overlap too often"));
    let nested = |depth| format!("{}0{}", "!(".repeat(depth), ")".repeat(depth));
    assert_eq!(parse(&nested(DEEPEST)).unwrap().to_string(), nested(DEEPEST));
    assert_eq!(wrong(&nested(DEEPEST + 1)), (33, "more than 16 parentheses are open here".into()));
    assert!(wrong(&"(".repeat(LONGEST)).1.contains("more than 16"));
    parse(&format!("{},0", "(0),".repeat(100))).unwrap();
}

#[test]
fn blanks_and_empty_terms_are_as_in_the_kernel() {
    for text in ["0-3,8", " 0-3 , 8 ", "0-3,,8,", "0 - 3,8"] {
        assert_eq!(parse(text).unwrap().to_string(), "0-3,8", "{text}");
    }
    assert_eq!(parse("!node:0&smt:0").unwrap().to_string(), "!node:0 & smt:0");
    let parenthesised = parse(" ! ( node:0 ,, !( 1&smt:0 ) )&( 0 - 3 )").unwrap();
    assert_eq!(parenthesised.to_string(), "!(node:0,!(1 & smt:0)) & (0-3)");
}

#[test]
fn only_numbers_are_numbers_on_every_machine() {
    let numbers = |text: &str| parse(text).unwrap().numbers().map(|set| set.to_list());
    assert_eq!(numbers("0-7:1/2,9"), Some("0,2,4,6,9".into()));
    for text in ["0-N", "N", "!0", "0,!1", "0 & 1", "all", "node:0", "(0)"] {
        assert_eq!(numbers(text), None, "{text}");
    }
}

fn a_range() -> impl Strategy<Value = Range> {
    let ends = prop_oneof![
        (0u32..4096, 0u32..4096).prop_map(|(a, b)| (End::Number(a.min(b)), End::Number(a.max(b)))),
        (0u32..4096).prop_map(|from| (End::Number(from), End::Last)),
        Just((End::Last, End::Last)),
    ];
    let stride =
        prop::option::of((1u32..64, 0u32..64).prop_map(|(used, more)| Stride { used, group: used + more }));
    (ends, stride).prop_map(|((from, to), stride)| Range { from, to, stride })
}

fn a_word() -> impl Strategy<Value = Word> {
    let apart = prop_oneof![Just(Apart::Isolated), Just(Apart::NohzFull)];
    let kind = prop::sample::select(GroupKind::ALL.to_vec());
    prop_oneof![
        Just(Word::All),
        Just(Word::Siblings),
        a_range().prop_map(Word::Listed),
        (apart, prop::option::of(a_range())).prop_map(|(apart, range)| Word::Apart(apart, range)),
        (kind, a_range()).prop_map(|(kind, range)| Word::Groups(kind, Which::Numbered(range))),
        "[a-z][a-z0-9_-]{0,12}".prop_map(|name| Word::Groups(GroupKind::Kind, Which::Named(name))),
    ]
}

fn a_choice_of(words: impl Strategy<Value = Word>) -> impl Strategy<Value = Choice> {
    let factor = (any::<bool>(), words).prop_map(|(negated, word)| Factor { negated, word });
    let term = prop::collection::vec(factor, 1..3).prop_map(Term);
    prop::collection::vec(term, 1..3).prop_map(Choice)
}

/// Of three levels, and so of 4 * (1 + 4 * (1 + 4)) words and parentheses at most: fewer than the most that are read.
fn a_choice() -> impl Strategy<Value = Choice> {
    let nested = a_word().prop_recursive(2, 12, 4, |words| a_choice_of(words).prop_map(Word::Parenthesised));
    a_choice_of(nested)
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_the_same(choice in a_choice()) {
        let text = choice.to_string();
        prop_assert_eq!(parse(&text), Ok(choice), "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic_and_positions_lie_within(text in ".{0,60}") {
        if let Err(wrong) = parse(&text) {
            prop_assert!(text.is_char_boundary(wrong.at), "{wrong:?}");
        }
    }

    #[test]
    fn no_mixture_of_words_makes_it_panic(text in "[!&, nodel3kismtcru:0-9N/()-]{0,40}") {
        if let Ok(choice) = parse(&text) {
            prop_assert_eq!(parse(&choice.to_string()), Ok(choice));
        }
    }

    #[test]
    fn a_list_means_what_it_means_to_a_cpu_set(text in "[0-9]{1,2}(-[0-9]{1,2}(:[0-9]/[0-9])?)?(,[0-9]{1,3}){0,3}") {
        let ours = parse(&text).ok().and_then(|choice| choice.numbers());
        prop_assert_eq!(ours, CpuSet::from_list(&text).ok());
    }
}
