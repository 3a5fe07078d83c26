//! Blocks of an HTML page: tables, lists of facts, legends, command lines.

use super::Html;

/// A table with heads and rows of text; columns named in `numbers` stand to the right.
pub(crate) fn table(html: &mut Html, heads: &[&str], numbers: &[usize], rows: &[Vec<String>]) {
    html.within("div", &[("class", &"scroll"), ("tabindex", &"0")], |frame| {
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
    html.within("pre", &[("class", &"command"), ("tabindex", &"0")], |pre| {
        for (i, line) in lines.iter().enumerate() {
            if i > 0 {
                pre.lines("\n");
            }
            pre.element("code", &[], line);
        }
    });
}
