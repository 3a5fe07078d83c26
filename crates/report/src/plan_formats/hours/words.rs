//! The files: the plan, a script for sh(1), and the units that run it.

use super::time_of_day::Hours;
use crate::plan_formats::page::{Body, Comment};

/// The name of the service that is active while the plan is in force.
const NAME: &str = "pinwise-hours";

const ENABLE: &str = "To put it in force: systemctl daemon-reload; systemctl enable --now pinwise-hours.timer pinwise-hours-end.timer";

pub(super) fn files(plan: String, units: &[String], hours: Hours) -> Vec<Body> {
    let unit = |name: &str| format!("etc/systemd/system/{NAME}{name}");
    let body = |path: String, advice: Vec<&'static str>, text: String| Body {
        path,
        first: "",
        comment: Comment::Hash,
        advice,
        text,
    };
    vec![
        body("etc/pinwise/hours.toml".into(), vec![ENABLE, "Needs systemd 243 or later."], plan),
        body(
            "etc/pinwise/hours.sh".into(),
            vec!["What the units run, with sh(1). Must be owned by root."],
            script(hours),
        ),
        body(unit(".service"), vec![ENABLE], begin(units, hours)),
        body(unit(".timer"), vec![ENABLE], timer(hours, true)),
        body(unit("-end.service"), vec![ENABLE], end(hours)),
        body(unit("-end.timer"), vec![ENABLE], timer(hours, false)),
    ]
}

/// test(1) takes numbers with zeros in front for decimal ones.
fn script(hours: Hours) -> String {
    let (from, to) = (hours.from.digits(), hours.to.digits());
    let and_or = if hours.from < hours.to { "&&" } else { "||" };
    format!(
        r#"set -eu

# Whether the clock of this machine is within the hours {}-{}.
within() {{
  now=$(date +%H%M)
  [ "$now" -ge {from} ] {and_or} [ "$now" -lt {to} ]
}}

case "${{1:-}}" in
within) within ;;
outside) ! within ;;
begin) exec pinwise apply /etc/pinwise/hours.toml --format json >"$RUNTIME_DIRECTORY/applied.json" ;;
undo)
  # Nothing had to be changed.
  if grep -q '"acts_in_force": 0,' "$RUNTIME_DIRECTORY/applied.json"; then exit 0; fi
  session=$(sed -n 's/^ *"session": "\([^"]*\)".*/\1/p' "$RUNTIME_DIRECTORY/applied.json" | head -n 1)
  exec pinwise undo --session "$session"
  ;;
end) exec systemctl stop {NAME}.service ;;
*)
  echo "hours.sh: '${{1:-}}' is none of within, outside, begin, undo, end" >&2
  exit 2
  ;;
esac
"#,
        hours.from, hours.to
    )
}

/// Active from the beginning to the end; `RemainAfterExit=` also keeps the process that holds `cpu-dma-latency`.
fn begin(units: &[String], hours: Hours) -> String {
    let after = match units {
        [] => String::new(),
        units => format!("After={}\n", units.join(" ")),
    };
    format!(
        "[Unit]\nDescription=Settings of a plan of pinwise from {} to {}\n{after}\n[Service]\nType=oneshot\n\
         RemainAfterExit=yes\nRuntimeDirectory={NAME}\nExecCondition=/bin/sh /etc/pinwise/hours.sh within\n\
         ExecStart=/bin/sh /etc/pinwise/hours.sh begin\nExecStop=/bin/sh /etc/pinwise/hours.sh undo\n",
        hours.from, hours.to
    )
}

/// Has a condition of its own: a machine that wakes at 10:00 from a sleep since 17:00 is late for the end and within the hours.
fn end(hours: Hours) -> String {
    format!(
        "[Unit]\nDescription=End of the settings of a plan of pinwise at {}\n\n[Service]\nType=oneshot\n\
         ExecCondition=/bin/sh /etc/pinwise/hours.sh outside\nExecStart=/bin/sh /etc/pinwise/hours.sh end\n",
        hours.to
    )
}

/// OnBootSec= in the past counts when the timer is started, so that enabling it within the hours begins them too.
fn timer(hours: Hours, is_begin: bool) -> String {
    let (what, at) = if is_begin { ("Beginning", hours.from) } else { ("End", hours.to) };
    let at_boot = if is_begin { "OnBootSec=1min\n" } else { "" };
    format!(
        "[Unit]\nDescription={what} of the settings of a plan of pinwise at {at}\n\n[Timer]\nOnCalendar=*-*-* {at}:00\n{at_boot}\
         OnClockChange=yes\nOnTimezoneChange=yes\nAccuracySec=1s\n\n[Install]\nWantedBy=timers.target\n"
    )
}
