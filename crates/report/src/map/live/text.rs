//! One frame as plain text, for a file or a pipe.

use machine::wording::whole_percent;

use super::now::{Now, Sort};
use super::{Group, Share};
use crate::{number, visible};

/// Lines of interrupts and softirqs that a frame shows; `--format json` has them all.
const MOST_LINES: usize = 20;

/// The frame, ended by an empty line. `head` says when it was.
pub fn render(now: &Now, head: &str, sort: Sort) -> String {
    let mut text = format!("{}\n", visible::one_line(head));
    text.push_str("  CPU    BUSY   STEAL    IDLE    IRQ/s  SOFTIRQ/s\n");
    for group in &now.groups {
        text.push_str(&format!("{}\n", group.name()));
        for cpu in &group.cpus {
            let [busy, steal, idle] = percents(cpu.time);
            let rate = |count: Option<u64>| known(count.map(|count| number::compact(now.rate(count))));
            let (irq, softirq) = (rate(cpu.interrupts), rate(cpu.softirqs));
            text.push_str(&format!("{:>5} {busy:>7} {steal:>7} {idle:>7} {irq:>8} {softirq:>10}\n", cpu.cpu));
        }
    }
    let lines = now.sorted(sort);
    text.push_str("  NAME         PER S  TAKEN BY               WHAT\n");
    for line in lines.iter().take(MOST_LINES) {
        let (rate, what) = (number::compact(now.rate(line.count)), line.title());
        let row = format!("  {:<9} {rate:>8}  {:<22} {what}", line.name, line.taken_by());
        text.push_str(&visible::one_line(row.trim_end()));
        text.push('\n');
    }
    if lines.len() > MOST_LINES {
        text.push_str(&format!("  and {} more\n", lines.len() - MOST_LINES));
    }
    if let Some(words) = now.offline_words() {
        text.push_str(&format!("  {words}\n"));
    }
    for missing in &now.missing {
        text.push_str(&format!("  not known: {}\n", visible::one_line(missing)));
    }
    visible::lines(&(text + "\n")).into_owned()
}

/// A figure, or `?` where it is not known.
pub(super) fn known(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "?".into())
}

/// `34 %` three times; `?` where the time is not known.
pub(super) fn percents(time: Option<Share>) -> [String; 3] {
    time.map_or_else(|| ["?", "?", "?"].map(String::from), |t| [t.busy, t.steal, t.idle].map(whole_percent))
}

impl Group {
    /// `package 0, node 1`; what is not reported is left out.
    pub(super) fn name(&self) -> String {
        let package = self.package.map(|package| format!("package {package}"));
        let node = self.node.map(|node| format!("node {node}"));
        let words: Vec<String> = package.into_iter().chain(node).collect();
        if words.is_empty() { "place not known".into() } else { words.join(", ") }
    }

    /// The same in few characters: `p0 n1`.
    pub(super) fn short_name(&self) -> String {
        let of = |letter: char, number: Option<u32>| {
            number.map_or(format!("{letter}?"), |n| format!("{letter}{n}"))
        };
        format!("{} {}", of('p', self.package), of('n', self.node))
    }
}
