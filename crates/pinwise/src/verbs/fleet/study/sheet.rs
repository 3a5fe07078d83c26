//! What came of the studies, for people: above the sheet that compares their cases.

use advise::fleet::Chosen;
use machine::Outside;
use machine::wording::counted;
use report::fleet::NotRead;

use super::on_host::Studied;

/// The shapes with the cases of their hosts, and the hosts without one.
pub(super) fn render(
    shapes: &[Chosen],
    studied: &[Studied],
    failed: &[NotRead],
    not_read: &[NotRead],
) -> String {
    let mut text =
        format!("{}, {} studied\n", counted(shapes.len(), "shape"), counted(studied.len(), "host"));
    for shape in shapes {
        let Chosen { shape: id, title, of_hosts, .. } = shape;
        text += &format!("\n{}  {}, {}\n", Outside(id), Outside(title), counted(*of_hosts, "host"));
        for one in studied.iter().filter(|one| one.shape == *id) {
            let case = one.case.display().to_string();
            let holds = match one.exit_code {
                0 => "",
                1 => "; what the recipe expects does not hold",
                _ => "; the trials cannot decide whether what the recipe expects holds",
            };
            text += &format!("  {}: {}{holds}\n", Outside(&one.host), Outside(&case));
        }
    }
    for (heading, hosts) in [("Not studied", failed), ("Not read", not_read)] {
        if !hosts.is_empty() {
            text += &format!("\n{heading}\n");
            text.extend(hosts.iter().map(|one| format!("  {}\n", one.fault)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use machine::{Class, Fault};

    use super::*;

    #[test]
    fn every_shape_has_its_cases_and_hosts_without_one_have_their_reason() {
        let shape = |id: &str| Chosen {
            shape: id.into(),
            title: "2 cores\x1b[2J".into(),
            of_hosts: 3,
            hosts: vec!["web1".into()],
        };
        let case = "out/aa-web1".into();
        let studied = [Studied { shape: "aa".into(), host: "web1".into(), case, exit_code: 8 }];
        let fault =
            Fault::new(Class::WorkloadFailed, "host db1", "was lost", "see whether it can be reached");
        let failed = [NotRead { host: "db1".into(), fault }];
        let text = render(&[shape("aa"), shape("bb")], &studied, &failed, &[]);
        assert!(text.starts_with("2 shapes, 1 host studied\n\naa  2 cores"), "{text}");
        assert!(
            text.contains("  web1: out/aa-web1; the trials cannot decide whether what the recipe expects"),
            "{text}"
        );
        assert!(
            text.ends_with("\nNot studied\n  host db1: was lost - see whether it can be reached\n"),
            "{text}"
        );
        assert!(!text.contains('\x1b') && !text.contains("Not read"), "{text}");
    }
}
