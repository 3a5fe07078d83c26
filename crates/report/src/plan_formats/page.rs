//! What a form writes, file by file, and what it leaves out.

use std::fmt;

use machine::knobs::{self, MaySet};
use machine::plan::SERVER;
use machine::untrusted::text::is_hidden;
use machine::{Act, Fault, Outside, Planned, PlannedActs, Setting};

/// A file to be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatFile {
    /// Where, below the root of the machine: `etc/tuned/pinwise/tuned.conf`.
    pub path: String,
    /// Its whole content.
    pub text: String,
}

/// A setting that a form does not say, or not all of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The setting.
    pub setting: Setting,
    /// Whether something of it is said.
    pub in_part: bool,
    /// Why it is not, or what is missing.
    pub why: String,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.in_part { "expressible here only in part" } else { "not expressible here" };
        let Setting { knob, target, value } = &self.setting;
        let line = format!("{how}: {knob} of {target} = {value}: {}", self.why);
        f.write_str(&Outside(&line).one_line())
    }
}

/// A plan in a form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Formatted {
    /// The files; none where the form says nothing of the plan.
    pub files: Vec<FormatFile>,
    /// What they do not say.
    pub left: Vec<Left>,
}

impl Formatted {
    /// All files as one text; where there are several, each stands behind a line with its path.
    pub fn text(&self) -> String {
        match &self.files[..] {
            [file] => file.text.clone(),
            files => {
                let file = |file: &FormatFile| format!("# ==> /{} <==\n{}", file.path, file.text);
                files.iter().map(file).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// What is written so far.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) files: Vec<Body>,
    left: Vec<Left>,
}

/// A file without its head.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) path: String,
    /// What has to stand before the head: `#!/bin/sh`, or how a file of JSON begins.
    pub(super) first: &'static str,
    pub(super) comment: Comment,
    /// Lines of the head for those who place the file.
    pub(super) advice: Vec<&'static str>,
    pub(super) text: String,
}

/// How a form writes comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment {
    Hash,
    Xml,
    /// The key `comment` of the object that the file begins with: JSON has no comments.
    JsonKey,
}

impl Comment {
    /// One comment on a line of its own.
    pub(super) fn line(self, text: &str) -> String {
        let text = Outside(text).one_line();
        match self {
            Comment::Hash => format!("# {text}\n"),
            Comment::Xml => format!("<!-- {} -->\n", without_double_hyphens(&text)),
            Comment::JsonKey => format!("    \"comment\": {},\n", json_text(&text)),
        }
    }

    /// Several: each on a line of its own, in JSON as one text with line ends in it, since a key stands once.
    fn lines(self, texts: &[String]) -> String {
        match self {
            Comment::Hash | Comment::Xml => texts.iter().map(|text| self.line(text)).collect(),
            Comment::JsonKey => {
                let lines: Vec<_> = texts.iter().map(|text| Outside(text).one_line()).collect();
                format!("    \"comment\": {},\n", json_text(&lines.join("\n")))
            }
        }
    }
}

/// A text of JSON, in quotes.
pub(super) fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Two hyphens would end a comment of XML.
pub(super) fn without_double_hyphens(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '-' && apart.ends_with('-') {
            apart.push(' ');
        }
        apart.push(letter);
    }
    apart
}

impl Page {
    /// Whether nothing in a setting is hidden; it is left out otherwise.
    pub(super) fn is_plain(&mut self, planned: &Planned) -> bool {
        let odd = |text: &String| text.contains(|letter: char| letter.is_control() || is_hidden(letter));
        let is_odd = [&planned.knob, &planned.target, &planned.value].into_iter().any(odd);
        if is_odd {
            self.leave(planned, "it has control characters");
        }
        !is_odd
    }

    pub(super) fn leave(&mut self, planned: &Planned, why: impl Into<String>) {
        self.left.push(Left { setting: planned.setting(), in_part: false, why: why.into() });
    }

    pub(super) fn leave_in_part(&mut self, planned: &Planned, why: impl Into<String>) {
        self.left.push(Left { setting: planned.setting(), in_part: true, why: why.into() });
    }

    /// The files with their heads: what the plan is for, how a file is put in force, and in the first one what is not said.
    pub(super) fn end(self, purpose: &str) -> Formatted {
        let Self { files, left } = self;
        let file = |(i, body): (usize, Body)| {
            let mut head = vec![format!("Written by pinwise: {purpose}")];
            head.extend(body.advice.iter().map(ToString::to_string));
            if i == 0 {
                head.extend(left.iter().map(ToString::to_string));
            }
            FormatFile {
                path: body.path,
                text: format!("{}{}{}", body.first, body.comment.lines(&head), body.text),
            }
        };
        let files = files.into_iter().enumerate().map(file).collect();
        Formatted { files, left }
    }
}

/// The acts of a setting of the machine. Errors: why there are none.
pub(super) fn acts(one: &PlannedActs) -> Result<&[Act], String> {
    match &one.acts {
        Ok(acts) if acts.is_empty() => Err("this machine has it already: there is nothing to write".into()),
        Ok(acts) => Ok(acts),
        Err(Fault { object, cause, .. }) => Err(format!("{object}: {cause}")),
    }
}

/// Whether a setting is about processes or a service, not about the machine.
pub(super) fn is_of_processes(planned: &Planned) -> bool {
    let of_service = ["memory-policy", "unit-environment", "unit-command", "process-memory-nodes"];
    of_service.contains(&planned.knob.as_str())
        || knobs::find(&planned.knob).is_some_and(|knob| knob.about().may_set == MaySet::OwnProcesses)
}

/// Whether a setting is about the server as a whole.
pub(super) fn is_of_server(planned: &Planned) -> bool {
    planned.target == SERVER
}
