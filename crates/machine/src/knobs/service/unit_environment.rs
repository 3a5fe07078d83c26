//! Environment that a service is started with.

use super::unit_drop_in::UnitDropIn;
use crate::act::platform_file::Aspect;
use crate::knobs::{About, MaySet};

/// The knob.
pub static KNOB: UnitDropIn = UnitDropIn {
    about: About {
        id: "unit-environment",
        title: "Environment that a systemd service is started with",
        docs: "Many servers take how many threads they run, and where, from their environment: GOMAXPROCS, GOMEMLIMIT, \
               ERL_FLAGS='+S 4:4 +sbt db', JAVA_TOOL_OPTIONS='-XX:ActiveProcessorCount=4', OMP_NUM_THREADS. It takes effect \
               when the service is restarted, which pinwise leaves to you: systemctl restart UNIT.",
        unit: "NAME=VALUE, several with blanks between; NAME=VALUE in quotes where VALUE has blanks: \"ERL_FLAGS=+S 4:4\"",
        scope: "one service of systemd that runs, with or without .service",
        owner: "the unit's own Environment= and EnvironmentFile=, which come later and win (EnvironmentFile=), the server's start \
                script",
        owners: &[],
        risk: "A variable that the server misreads can keep it from starting: see its log; 'pinwise undo' takes the \
               file away. Everybody who may run systemctl show can read it: no secrets.",
        may_set: MaySet::Root,
        source: "systemd.exec(5), Environment=",
    },
    aspect: Aspect::Environment,
    before: "",
    directive: "Environment",
    fault_of: |value| {
        let first = value.trim_start_matches(['"', '\'']).split('=').next().unwrap_or_default();
        let is_name = |name: &str| {
            let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            letters && !name.is_empty() && !name.starts_with(|letter: char| letter.is_ascii_digit())
        };
        let quotes = |quote: char| value.matches(quote).count() % 2 == 1;
        match value.contains('=') && is_name(first) {
            false => Some("it does not begin with NAME="),
            true if quotes('"') || (!value.contains('"') && quotes('\'')) => Some("a quote is not closed"),
            true => None,
        }
    },
};

#[cfg(test)]
mod tests {
    use super::KNOB;
    use crate::knobs::Knob as _;
    use crate::knobs::service::unit_drop_in::tests::{placed, with_service};

    #[test]
    fn what_is_set_is_read_again_and_percent_signs_stay_as_they_are() {
        let value = "\"ERL_FLAGS=+S 4:4 +sbt db\" LOAD=50%";
        let (root, content) = placed(&KNOB, "nginx", value);
        assert!(
            content.ends_with("[Service]\nEnvironment=\"ERL_FLAGS=+S 4:4 +sbt db\" LOAD=50%%\n"),
            "{content}"
        );
        assert_eq!(KNOB.read(&root, "nginx.service").unwrap(), value);
    }

    #[test]
    fn what_is_no_assignment_is_refused() {
        for bad in ["", "x", "=1", "1A=2", "A B=1", "A=1\nExecStart=/bin/sh", "\"A=1"] {
            assert!(KNOB.change(&with_service(), "nginx", bad).is_err(), "{bad}");
        }
        assert!(KNOB.change(&with_service(), "sshd", "A=1").is_err(), "it does not run");
    }
}
