//! The page of made-up explanations.

use advise::explanation::Basis;

use super::*;
use crate::case::explanation_text;
use crate::case::explanation_words::examples;

fn page(explanation: &Explanation) -> String {
    let mut html = Html::new();
    one(&mut html, 0, explanation, None);
    html.into_string()
}

fn count(html: &str, part: &str) -> usize {
    html.matches(part).count()
}

#[test]
fn a_term_has_a_bar_a_whisker_and_a_row() {
    let html = page(&examples::explanation());
    // Two totals, and four terms of which one takes nothing in either arm.
    assert_eq!(count(&html, "class=\"bar unpinned\""), 2);
    assert_eq!((count(&html, "class=\"bar slow\""), count(&html, "class=\"bar fast\"")), (1, 1));
    assert_eq!(count(&html, "class=\"bar pinned\""), 2);
    // A line and two caps, of four steps and the total.
    assert_eq!(count(&html, "class=\"whisker\""), 3 * 5);
    assert_eq!(count(&html, "<tr>"), 1 + 5 + 1);
    for part in [
        "waiting for a CPU",
        "+30.0 us",
        "[+28.0, +32.0]",
        "hog +29.0 us",
        "may be chance",
        "supported",
        "Move hog",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("role=\"img\"") && html.contains("<desc>unpinned A 100.0 us; waiting"), "{html}");
}

#[test]
fn the_page_says_what_the_terminal_says() {
    for explanation in [examples::explanation(), examples::of_five_blocks()] {
        let (html, text) = (page(&explanation), explanation_text::text(&explanation, None));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentences =
            words::below_claims(&explanation, None).into_iter().chain([words::heading(&explanation)]);
        let claims = explanation.claims.iter().map(|claim| words::claim(claim, &explanation).cost);
        for sentence in sentences.chain(claims) {
            let mut escaped = Html::new();
            escaped.text(&sentence);
            assert!(html.contains(escaped.as_str()) && text.contains(&sentence), "{sentence}");
        }
    }
}

#[test]
fn fewer_than_six_blocks_have_neither_whisker_nor_support() {
    let html = page(&examples::of_five_blocks());
    assert_eq!((count(&html, "class=\"whisker\""), count(&html, "supported")), (0, 0), "{html}");
    assert_eq!((count(&html, "class=\"bar slow\""), count(&html, "class=\"bar fast\"")), (0, 0), "not shown");
    assert!(html.contains("too few blocks to tell") && html.contains("Fewer than 6 observed blocks"));
}

#[test]
fn a_fixed_rate_and_shares_of_the_window_say_so() {
    let of = |basis| page(&Explanation { basis, ..examples::explanation() });
    let fixed = of(Basis::RequestAtFixedRate);
    assert!(fixed.contains("(fixed rate)") && fixed.contains("us a request, without sleep"));
    assert!(!fixed.contains("asleep"), "{fixed}");
    let shares = of(Basis::Window);
    assert!(shares.contains("(shares of the window)") && shares.contains("% of the window"));
    assert!(!shares.contains("0 us"), "{shares}");
}

#[test]
fn hostile_names_are_text() {
    let html = page(&examples::hostile());
    assert!(html.contains("&lt;script&gt;") && !html.contains("<script"), "{html}");
    assert!(!html.contains(['\x1b', '\u{202e}', '\n']) && !html.contains("onload='"), "{html:?}");
}

#[test]
fn totals_that_hardly_differ_are_cut_and_that_is_said() {
    let cut = page(&examples::explanation());
    assert!(cut.contains("the axis does not begin at 0") && count(&cut, "class=\"break\"") == 2, "{cut}");
    let mut whole = examples::explanation();
    whole.server.steps[0].change = examples::change(10.0, 400.0, Some((380.0, 395.0)));
    let whole = page(&whole);
    assert!(!whole.contains("does not begin at 0") && !whole.contains("class=\"break\""), "{whole}");
}

#[test]
fn numbers_without_bound_are_drawn() {
    let mut explanation = examples::explanation();
    for (i, value) in [f64::MAX, f64::INFINITY, f64::NAN, -f64::MAX].into_iter().enumerate() {
        explanation.server.steps[i].change = examples::change(value, -value, Some((-value, value)));
    }
    assert!(page(&explanation).ends_with("</p>"));
    assert!(explanation_text::text(&explanation, None).contains("cpu 0"));
    explanation.server.steps.clear();
    assert!(page(&explanation).contains("in all"), "nothing at all is known");
}
