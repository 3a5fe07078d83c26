//! What a server did on CPUs, by function.

use machine::wording::whole_percent;
use probe::stacks::{Profile, Sampled};

use crate::case::table::wrap::cut;
use crate::visible::one_line;

/// Fewer samples of its own work than this say too little: their shares are off by more than ten in a hundred.
pub(crate) const FEWEST: u64 = 100;
/// A function with a smaller share is not named, unless all are asked for.
const NAMED: f64 = 0.05;
/// Functions or calls that are named of a kind, likewise.
const SHOWN: usize = 3;
/// Longest name of a function, characters: those of generics have hundreds.
const LONGEST: usize = 48;

/// One line, or with `all` one more for each kind; nothing where there are too few samples.
pub(crate) fn lines(profile: &Profile, all: bool) -> Vec<String> {
    let own = profile.own();
    if own < FEWEST {
        return Vec::new();
    }
    let share = |samples: u64| samples as f64 / own as f64;
    let in_user = own.saturating_sub(profile.in_kernel);
    let calls = named(&profile.calls, share, |name| format!("in {name}"));
    let faults = (share(profile.in_page_faults) >= NAMED)
        .then(|| format!("{} in page faults", whole_percent(share(profile.in_page_faults))));
    let mut lines = vec![format!(
        "its own CPU time, by {own} samples (within {:.0} percentage points): {} in user space{}, {} in the kernel{}",
        half_width(own) * 100.0,
        whole_percent(share(in_user)),
        brackets(named(&profile.user, share, str::to_string)),
        whole_percent(share(profile.in_kernel)),
        brackets(calls.into_iter().chain(faults).collect()),
    )];
    if all {
        let kinds = [
            ("user space", &profile.user),
            ("the kernel", &profile.kernel),
            ("system calls", &profile.calls),
        ];
        lines.extend(kinds.into_iter().filter(|(_, functions)| !functions.is_empty()).map(
            |(kind, functions)| {
                let each = functions.iter().map(|function| one(function, share, str::to_string));
                format!("{kind}: {}", each.collect::<Vec<_>>().join(", "))
            },
        ));
    }
    lines
}

/// Half the 95 % interval of a share of one half, the widest one there is.
fn half_width(samples: u64) -> f64 {
    1.96 * (0.25 / samples as f64).sqrt()
}

fn named(
    functions: &[Sampled],
    share: impl Fn(u64) -> f64 + Copy,
    words: impl Fn(&str) -> String + Copy,
) -> Vec<String> {
    let large = functions.iter().filter(|function| share(function.samples) >= NAMED);
    large.take(SHOWN).map(|function| one(function, share, words)).collect()
}

fn one(function: &Sampled, share: impl Fn(u64) -> f64, words: impl Fn(&str) -> String) -> String {
    format!("{} {}", whole_percent(share(function.samples)), words(&short(&function.name)))
}

/// The name of a function on one line, cut where it is long.
pub(crate) fn short(function: &str) -> String {
    cut(&one_line(function), LONGEST)
}

fn brackets(parts: Vec<String>) -> String {
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(functions: &[(&str, u64)]) -> Vec<Sampled> {
        functions
            .iter()
            .map(|(name, samples)| Sampled { name: name.to_string(), samples: *samples })
            .collect()
    }

    fn profile() -> Profile {
        Profile {
            samples: 420,
            in_interrupts: 20,
            in_kernel: 100,
            in_page_faults: 30,
            calls: sampled(&[("sendto", 60), ("read", 10)]),
            user: sampled(&[("parse", 200), (&"long".repeat(40), 60), ("rare", 4)]),
            kernel: sampled(&[("copy\u{1b}[31m", 50)]),
            ..Profile::default()
        }
    }

    #[test]
    fn one_line_says_where_the_time_went_and_how_well_that_is_known() {
        let lines = lines(&profile(), false);
        let long = format!("{}...", &"long".repeat(40)[..LONGEST - 3]);
        assert_eq!(
            lines,
            [format!(
                "its own CPU time, by 400 samples (within 5 percentage points): 75 % in user space (50 % parse, \
                 15 % {long}), 25 % in the kernel (15 % in sendto, 8 % in page faults)"
            )]
        );
    }

    #[test]
    fn all_is_every_kind_and_names_drive_no_terminal() {
        let lines = lines(&profile(), true);
        assert_eq!(lines.len(), 4);
        assert!(
            lines[1].ends_with("1 % rare") && lines[3] == "system calls: 15 % sendto, 2 % read",
            "{lines:?}"
        );
        assert!(!lines[2].contains('\u{1b}'), "{lines:?}");
    }

    #[test]
    fn few_samples_and_forged_ones_say_nothing_odd() {
        assert!(lines(&Profile { samples: 99, ..Profile::default() }, true).is_empty());
        let forged = Profile { samples: u64::MAX, in_kernel: u64::MAX, in_interrupts: 7, ..profile() };
        assert_eq!(lines(&forged, true).len(), 4);
    }
}
