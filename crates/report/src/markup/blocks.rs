//! Blocks of an HTML page: tables, lists of facts, legends, command lines.

use super::Html;

/// A table with heads and rows of text; columns named in `numbers` stand to the right.
pub(crate) fn table(html: &mut Html, heads: &[&str], numbers: &[usize], rows: &[Vec<String>]) {
    let named: Vec<&str> = heads.iter().copied().filter(|head| !head.is_empty()).collect();
    let label = format!("Table: {}", named.join(", "));
    html.scrolled("div", "scroll", "region", &label, |frame| {
        frame.within("table", &[], |table| {
            let class = |i: usize| if numbers.contains(&i) { "number" } else { "words" };
            table.within("thead", &[], |head| {
                head.within("tr", &[], |row| {
                    for (i, name) in heads.iter().enumerate() {
                        row.element("th", &[("scope", &"col"), ("class", &class(i))], name);
                    }
                });
            });
            table.within("tbody", &[], |body| {
                for cells in rows {
                    body.within("tr", &[], |row| {
                        for (i, cell) in cells.iter().enumerate() {
                            match i {
                                0 => row.element("th", &[("scope", &"row"), ("class", &class(i))], cell),
                                _ => row.element("td", &[("class", &class(i))], cell),
                            };
                        }
                    });
                }
            });
        });
    });
}

/// A list of names and values.
pub(crate) fn facts_list(html: &mut Html, rows: &[(&str, String)]) {
    html.within("dl", &[], |list| {
        for (name, value) in rows {
            list.element("dt", &[], name);
            list.element("dd", &[], value);
        }
    });
}

/// What a drawing shows by colour and shape: an entry has words, and a sample that `sample` draws into 18 by 14.
pub(crate) fn legend<T: Copy>(html: &mut Html, entries: &[(T, &str)], sample: &dyn Fn(&mut Html, T)) {
    html.within("p", &[("class", &"legend")], |p| {
        for (of, words) in entries {
            p.within("span", &[], |entry| {
                entry.within(
                    "svg",
                    &[("width", &18), ("height", &14), ("viewBox", &"0 0 18 14"), ("aria-hidden", &"true")],
                    |svg| sample(svg, *of),
                );
                entry.text(format!(" {words}"));
            });
        }
    });
}

/// Command lines that can be copied: what stands before them is drawn, not text.
pub(crate) fn commands(html: &mut Html, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    html.scrolled("pre", "command", "region", "Commands", |pre| {
        for (i, line) in lines.iter().enumerate() {
            if i > 0 {
                pre.lines("\n");
            }
            pre.element("code", &[], line);
        }
    });
}

/// The sheet of a machine as `pinwise map` prints it, folded away below `summary`.
pub(crate) fn machine_sheet(html: &mut Html, summary: &str, sheet: &str) {
    html.within("details", &[], |details| {
        details.element("summary", &[], summary);
        details.scrolled("pre", "map", "region", "The whole machine", |pre| {
            pre.lines(sheet);
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_scrolled_by_keys_has_a_name_that_is_read_out() {
        let mut html = Html::new();
        table(&mut html, &["arm", "", "a < b"], &[], &[vec!["x".into(), "y".into(), "z".into()]]);
        let start = "<div class=\"scroll\" role=\"region\" aria-label=\"Table: arm, a &lt; b\" tabindex=\"0\"><table>";
        assert!(html.as_str().starts_with(start), "{}", html.as_str());
        let mut html = Html::new();
        commands(&mut html, &["ls".into()]);
        assert!(html.as_str().contains("role=\"region\" aria-label=\"Commands\""), "{}", html.as_str());
        let mut nothing = Html::new();
        commands(&mut nothing, &[]);
        assert!(nothing.is_empty());
    }
}
