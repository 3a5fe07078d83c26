//! The table in docs/knobs.md is that of the knobs that there are.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use pinwise_machine::knobs;

fn table() -> String {
    let mut text = String::from(
        "| knob | what | value | covers | may set | who else writes it | risk |\n|---|---|---|---|---|---|---|\n",
    );
    for about in knobs::ALL.iter().map(|knob| knob.about()) {
        // A bar would end the cell.
        let cell = |text: &str| text.replace('|', "\\|");
        let cells =
            [about.title, about.unit, about.scope, &about.may_set.to_string(), about.owner, about.risk];
        let cells = cells.map(cell).join(" | ");
        text.push_str(&format!("| `{}` | {cells} |\n", about.id));
    }
    text
}

#[test]
fn the_table_in_the_docs_is_that_of_the_knobs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/knobs.md");
    let text = std::fs::read_to_string(path).unwrap();
    let start = text.find("| knob |").expect("docs/knobs.md has the table");
    let end = text[start..].find("\n\n").map_or(text.len(), |length| start + length + 1);
    if std::env::var_os("PINWISE_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{}{}{}", &text[..start], table(), &text[end..])).unwrap();
        return;
    }
    assert_eq!(text[start..end], table(), "run this test with PINWISE_WRITE_DOCS=1 to write the table anew");
}
