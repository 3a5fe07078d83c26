//! What came of a rollout, and what would, as documents for programs and text for people.

use std::time::Duration;

use advise::fleet::Unlike;
use advise::fleet::rollout::{HostState, State, Stopped};
use machine::{Fault, Outside};
use report::fleet::NotRead;
use serde::Serialize;

use super::targets;

/// A host of a rollout.
#[derive(Debug, Serialize)]
pub(super) struct HostRow {
    /// Its name.
    pub(super) host: String,
    /// By which the plan can be undone there; none where nothing was applied, or that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    /// How it stands.
    #[serde(flatten)]
    pub(super) state: HostState,
}

/// What came of a rollout.
#[derive(Debug, Serialize)]
pub(super) struct Sheet {
    /// Each host that was to get the plan, in order.
    pub(super) hosts: Vec<HostRow>,
    /// Why it ended early; none where every wave was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stopped: Option<Stopped>,
    /// Hosts that were left out, since they are built otherwise.
    pub(super) unlike: Vec<Unlike>,
    /// Hosts that were left out, since they could not be read.
    pub(super) not_read: Vec<NotRead>,
    /// When what is not confirmed takes itself back.
    #[serde(skip)]
    pub(super) confirm_within: Duration,
}

impl Sheet {
    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = match self.stopped {
            None => "The plan is in force on every host of the waves.\n".to_string(),
            Some(Stopped::Harm { wave }) => format!("Stopped in wave {wave}, where a host failed.\n"),
            Some(Stopped::Interrupted { wave }) => {
                format!("Stopped by a signal, before wave {wave} was confirmed.\n")
            }
        };
        let mut wave = None;
        for (at, row) in self.hosts.iter().enumerate() {
            if at == 0 || row.state.wave != wave {
                wave = row.state.wave;
                text += &heading(wave);
            }
            text += &self.row(row);
        }
        text + &left_out(&self.unlike, &self.not_read)
    }

    fn row(&self, row: &HostRow) -> String {
        let undo = match row.session.as_deref() {
            Some(session) => format!("pinwise undo --session {}", Outside(session)),
            None => "pinwise undo".to_string(),
        };
        let state = match row.state.state {
            State::Untouched => "not touched".to_string(),
            State::Confirmed => format!("in force; undo it there with '{undo}'"),
            State::Already => "was already so".to_string(),
            State::Undone => "undone".to_string(),
            State::TakesItselfBack | State::Waits => {
                let within_s = self.confirm_within.as_secs_f64();
                format!(
                    "could not be reached to undo it; it is undone automatically within {within_s} s of the apply"
                )
            }
            State::Left | State::Unsettled => {
                format!("NOT undone, and may be in force for good; run there: {undo}")
            }
        };
        let mut text = format!("  {}: {state}\n", Outside(&row.host));
        for fault in [&row.state.fault, &row.state.not_undone].into_iter().flatten() {
            text += &format!("      {fault}\n");
        }
        text
    }
}

/// What would be done on a host.
#[derive(Debug, Serialize)]
pub(super) struct ForeseenRow {
    /// Its name.
    pub(super) host: String,
    /// Its wave, from 1; none of a host that no wave reaches.
    pub(super) wave: Option<usize>,
    /// What `pinwise apply --dry-run` prints there; none where it cannot be said.
    pub(super) would: Option<String>,
    /// Whether all of it can be done.
    pub(super) can: bool,
    /// The check that would be run here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) check: Option<String>,
    /// Why it cannot be said what would be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<Fault>,
}

/// What would be done on all hosts.
#[derive(Debug, Serialize)]
pub(super) struct ForeseenSheet {
    /// Each host, in order.
    pub(super) hosts: Vec<ForeseenRow>,
    /// Hosts that would be left out, since they are built otherwise.
    pub(super) unlike: Vec<Unlike>,
    /// Hosts that would be left out, since they could not be read.
    pub(super) not_read: Vec<NotRead>,
}

impl ForeseenSheet {
    /// For people: hosts of a wave on which the same would be done stand together.
    pub(super) fn text(&self) -> String {
        let mut text = "Nothing is changed. This would be done:\n".to_string();
        let mut wave = None;
        for (at, group) in self.hosts.chunk_by(ForeseenRow::is_alike).enumerate() {
            let Some(first) = group.first() else { continue };
            if at == 0 || first.wave != wave {
                wave = first.wave;
                text += &heading(wave);
            }
            let names: Vec<&str> = group.iter().map(|row| row.host.as_str()).collect();
            text += &format!("  {}\n", Outside(&names.join(", ")));
            text.extend(
                first.would.iter().flat_map(|would| would.lines()).map(|line| format!("    {line}\n")),
            );
            text.extend(
                group
                    .iter()
                    .filter_map(|row| row.check.as_ref())
                    .map(|line| format!("    then here: {}\n", Outside(line))),
            );
            text.extend(
                group.iter().filter_map(|row| row.fault.as_ref()).map(|fault| format!("    {fault}\n")),
            );
        }
        text + &left_out(&self.unlike, &self.not_read)
    }
}

impl ForeseenRow {
    fn is_alike(&self, other: &Self) -> bool {
        (self.wave, &self.would, self.can) == (other.wave, &other.would, other.can)
    }
}

fn heading(wave: Option<usize>) -> String {
    match wave {
        Some(wave) => format!("\nWave {wave}\n"),
        None => "\nIn no wave\n".into(),
    }
}

fn left_out(unlike: &[Unlike], not_read: &[NotRead]) -> String {
    if unlike.is_empty() && not_read.is_empty() {
        return String::new();
    }
    let mut text = "\nLeft out\n".to_string();
    text.extend(unlike.iter().map(|one| format!("  {}\n", Outside(&targets::words(one)))));
    text.extend(not_read.iter().map(|one| format!("  {}\n", one.fault)));
    text
}

#[cfg(test)]
mod tests {
    use machine::Class;

    use super::*;

    fn row(host: &str, wave: Option<usize>, state: State) -> HostRow {
        let session = (state != State::Untouched).then(|| "7-1".to_string());
        let fault = (state == State::Left).then(|| Fault::new(Class::No, "host c: check", "is down", ""));
        HostRow { host: host.into(), session, state: HostState { wave, state, fault, not_undone: None } }
    }

    #[test]
    fn every_host_stands_in_its_wave_with_what_came_of_it() {
        let hosts = vec![
            row("a", Some(1), State::Undone),
            row("b", Some(2), State::TakesItselfBack),
            row("c", Some(2), State::Left),
            row("d", None, State::Untouched),
        ];
        let confirm_within = Duration::from_secs(600);
        let stopped = Some(Stopped::Harm { wave: 2 });
        let sheet = Sheet { hosts, stopped, unlike: Vec::new(), not_read: Vec::new(), confirm_within };
        let expected = "Stopped in wave 2, where a host failed.\n\
            \nWave 1\n  a: undone\n\
            \nWave 2\n  b: could not be reached to undo it; it is undone automatically within 600 s of the apply\n  \
            c: NOT undone, and may be in force for good; run there: pinwise undo --session 7-1\n      \
            host c: check: is down\n\
            \nIn no wave\n  d: not touched\n";
        assert_eq!(sheet.text(), expected);
        let document = serde_json::to_value(&sheet).unwrap();
        assert_eq!(document["stopped"]["harm"]["wave"], 2);
        assert_eq!(document["hosts"][1]["state"], "takes-itself-back");
        assert_eq!(document["hosts"][2]["fault"]["cause"], "is down");
    }

    #[test]
    fn hosts_on_which_the_same_would_be_done_stand_together() {
        let row = |host: &str, wave: usize, would: &str| ForeseenRow {
            host: host.into(),
            wave: Some(wave),
            would: Some(would.into()),
            can: true,
            check: Some(format!("test {host}")),
            fault: None,
        };
        let hosts =
            vec![row("a", 1, "x\ny\n"), row("b", 2, "x\ny\n"), row("c", 2, "x\ny\n"), row("d", 2, "z\n")];
        let text = ForeseenSheet { hosts, unlike: Vec::new(), not_read: Vec::new() }.text();
        assert!(text.contains("Wave 1\n  a\n    x\n    y\n    then here: test a\n"), "{text}");
        assert!(
            text.contains(
                "Wave 2\n  b, c\n    x\n    y\n    then here: test b\n    then here: test c\n  d\n    z\n"
            ),
            "{text}"
        );
    }
}
