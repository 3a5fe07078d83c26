//! The fleet for people: the shapes, what deviates in each, the most serious first, and the hosts that were not read.

use std::collections::BTreeMap;

use advise::fleet::{Difference, Fleet, Others, Shape, Variation};

use super::NotRead;
use crate::display_width::cut;
use crate::number::{count, counted};
use crate::visible::{lines, one_line};

/// Most hosts that are named in one place; all are in the JSON document and in the table.
const MOST_NAMES: usize = 12;

/// Most differences of a shape that are shown.
const MOST_DIFFERENCES: usize = 40;

/// Most values that are shown of what has no usual one.
const MOST_VALUES: usize = 6;

/// Longer values are cut here, columns.
const LONGEST_VALUE: usize = 60;

/// Hosts of one shape that deviate in the same way.
struct Group<'a> {
    first: &'a Difference,
    hosts: Vec<&'a str>,
}

/// Renders the fleet. No name in it drives a terminal or makes a line of its own.
pub fn render(fleet: &Fleet, not_read: &[NotRead]) -> String {
    let by_shape: Vec<Vec<Group<'_>>> = fleet.shapes.iter().map(|shape| groups(&shape.differences)).collect();
    let mut text = headline(fleet, by_shape.iter().map(Vec::len).sum(), not_read);
    for (shape, groups) in fleet.shapes.iter().zip(&by_shape) {
        text.push('\n');
        text.push_str(&section(shape, groups));
    }
    if !not_read.is_empty() {
        text.push_str("\nNot read\n");
        // A fault names the host or file itself; the further lines of its cause stand behind a bar.
        text.extend(not_read.iter().map(|one| format!("  {}\n", one.fault)));
    }
    lines(&text).into_owned()
}

fn headline(fleet: &Fleet, differences: usize, not_read: &[NotRead]) -> String {
    let hosts: usize = fleet.shapes.iter().map(|shape| shape.hosts.len()).sum();
    let mut text = format!(
        "{} of {}, {} from what is usual",
        counted(hosts, "host"),
        counted(fleet.shapes.len(), "shape"),
        counted(differences, "difference"),
    );
    if !not_read.is_empty() {
        text.push_str(&format!("; {} not read", count(not_read.len())));
    }
    text + "\n"
}

fn section(shape: &Shape, groups: &[Group<'_>]) -> String {
    let mut text = format!("{}  {}\n", one_line(&shape.id), one_line(&shape.title));
    let names = named(shape.hosts.iter().map(String::as_str));
    text.push_str(&format!("  {}: {names}\n", counted(shape.hosts.len(), "host")));
    text.extend(groups.iter().take(MOST_DIFFERENCES).map(|group| difference(group, shape.hosts.len())));
    if groups.len() > MOST_DIFFERENCES {
        let others = counted(groups.len() - MOST_DIFFERENCES, "further difference");
        text.push_str(&format!("  {others}: see --format json, or the table of -o\n"));
    }
    text.extend(shape.varies.iter().map(variation));
    text
}

/// One deviation with the hosts that have it, the usual value, and why it matters.
fn difference(group: &Group<'_>, of_hosts: usize) -> String {
    let Difference { feature, subject, usual, here, why, .. } = group.first;
    let what = of(feature.name(), subject);
    let hosts = named(group.hosts.iter().copied());
    let share = format!("{} of {}", count(group.hosts.len()), counted(of_hosts, "host"));
    format!("  {what}: {}, usually {}\n      {share}: {hosts}\n      {why}\n", shown(here), shown(usual))
}

/// A feature without a usual value, with its most frequent ones.
fn variation(variation: &Variation) -> String {
    let what = of(variation.feature.name(), &variation.subject);
    let on = |value: &str, hosts: &[String]| match hosts {
        [host] => format!("{} on {}", shown(value), one_line(host)),
        hosts => format!("{} on {}", shown(value), counted(hosts.len(), "host")),
    };
    let values = variation.values.iter().take(MOST_VALUES);
    let mut words: Vec<String> = values.map(|(value, hosts)| on(value, hosts)).collect();
    match &variation.others {
        _ if variation.values.len() > MOST_VALUES => words.push("and others".into()),
        Some(Others { values, hosts }) => words.push(on(&counted(*values, "other value"), hosts)),
        None => {}
    }
    format!("  {what}: no value is usual\n      {}\n", words.join(", "))
}

/// Differences that are alike but for their hosts, the most serious first, and of those the rarest.
fn groups(differences: &[Difference]) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<_, Group<'_>> = BTreeMap::new();
    for difference in differences {
        let Difference { feature, subject, usual, here, .. } = difference;
        let group = groups.entry((feature.name(), subject, usual, here));
        let new = || Group { first: difference, hosts: Vec::new() };
        group.or_insert_with(new).hosts.push(&difference.host);
    }
    let mut groups: Vec<Group<'_>> = groups.into_values().collect();
    groups.sort_by(|a, b| {
        let serious = b.first.weight.total_cmp(&a.first.weight);
        serious.then_with(|| a.hosts.len().cmp(&b.hosts.len()))
    });
    groups
}

/// A feature with what it is of, where there are several.
fn of(feature: &str, subject: &str) -> String {
    match subject {
        "" => feature.to_string(),
        subject => format!("{feature} of {}", one_line(subject)),
    }
}

/// A value as it fits into a line.
fn shown(value: &str) -> String {
    match value.trim() {
        "" => "empty".into(),
        value => cut(&one_line(value), LONGEST_VALUE, "..."),
    }
}

/// The names of hosts, or of the first of them.
fn named<'a>(hosts: impl ExactSizeIterator<Item = &'a str>) -> String {
    let further = hosts.len().saturating_sub(MOST_NAMES);
    let names: Vec<String> = hosts.take(MOST_NAMES).map(|host| one_line(host).into_owned()).collect();
    let names = names.join(", ");
    if further == 0 { names } else { format!("{names} and {} more", count(further)) }
}

#[cfg(test)]
mod tests {
    use machine::{Class, Fault};

    use super::*;
    use crate::display_width::width;
    use crate::fitted::fitted;
    use crate::fleet::sample::fleet;

    fn not_read() -> Vec<NotRead> {
        let fault = Fault::new(Class::Storage, "captures/d.tar.zst", "cut off\nFAKE", "capture it again");
        vec![NotRead { host: "d".into(), fault }]
    }

    #[test]
    fn shapes_differences_and_what_was_not_read_stand_in_this_order() {
        assert_eq!(
            render(&fleet(), &not_read()),
            "\
3 hosts of 1 shape, 3 differences from what is usual; 1 not read

0badcafe  1 package, 4 cores
  3 hosts: a, b\\n, c
  boot-parameter of nosmt: given, usually not given
      1 of 3 hosts: a
      It matters.
  card-speed of ens1: 10 Gbit/s, usually 25 Gbit/s
      1 of 3 hosts: c
      It matters.
  transparent-huge-pages: always, usually madvise
      1 of 3 hosts: c
      It matters.
  kernel: no value is usual
      6.1 on a, 2 other values on c

Not read
  captures/d.tar.zst: cut off
  | FAKE - capture it again
"
        );
    }

    #[test]
    fn hosts_that_deviate_alike_are_one_entry_and_many_are_counted() {
        let mut fleet = fleet();
        let shape = &mut fleet.shapes[0];
        let first = shape.differences[1].clone();
        shape.differences = (0..30).map(|n| Difference { host: format!("n{n}"), ..first.clone() }).collect();
        let text = render(&fleet, &[]);
        assert!(text.contains("30 of 3 hosts: n0, n1,") && text.contains("n11 and 18 more"), "{text}");
        let many = |n: usize| Difference { subject: format!("s{n}"), ..first.clone() };
        fleet.shapes[0].differences = (0..MOST_DIFFERENCES + 2).map(many).collect();
        assert!(render(&fleet, &[]).contains("  2 further differences: see"));
    }

    #[test]
    fn the_sheet_fits_a_terminal_of_80_columns() {
        let mut fleet = fleet();
        fleet.shapes[0].hosts = (0..40).map(|n| format!("node{n:04}.rack7.example.org")).collect();
        fleet.shapes[0].differences[0].here = "x".repeat(500);
        let text = fitted(&render(&fleet, &not_read()), 80);
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    }

    proptest::proptest! {
        #[test]
        fn no_name_makes_a_line_or_drives_a_terminal(name in "(?s).{0,20}\nFAKE.{0,9}") {
            let mut fleet = fleet();
            let lines = render(&fleet, &[]).lines().count();
            let shape = &mut fleet.shapes[0];
            shape.hosts[0] = name.clone();
            shape.title = name.clone();
            shape.varies[0].subject = name.clone();
            shape.varies[0].values[0].1[0] = name.clone();
            let one = &mut shape.differences[0];
            for text in [&mut one.host, &mut one.subject, &mut one.usual, &mut one.here] {
                *text = name.clone();
            }
            let text = render(&fleet, &[]);
            proptest::prop_assert_eq!(text.lines().count(), lines, "{}", &text);
            proptest::prop_assert!(!text.chars().any(machine::untrusted::text::is_hidden));
        }
    }
}
