//! Command that a service is started with.

use super::unit_drop_in::UnitDropIn;
use crate::act::platform_file::Aspect;
use crate::knobs::{About, MaySet};

/// The knob.
pub static KNOB: UnitDropIn = UnitDropIn {
    about: About {
        id: "unit-command",
        title: "Command that a systemd service is started with",
        docs: "For servers that take how many threads they run, and where, as arguments: redis-server --io-threads 4, memcached -t 4, \
               nginx -g 'worker_processes 4; worker_cpu_affinity auto;'. It stands in the place of the unit's own ExecStart=, \
               so it names all of the command. It takes effect when the service is restarted, which pinwise leaves to you: \
               systemctl restart UNIT.",
        unit: "the whole command: an absolute path and its arguments, as ExecStart= takes them",
        scope: "one service of systemd that runs, with or without .service",
        owner: "the unit's own ExecStart=, which a new version of the package may change: this one stays as it is then",
        owners: &[],
        risk: "An argument that the server does not know keeps it from starting: see its log; 'pinwise undo' takes the \
               file away. Units of Type=oneshot with several commands get this one alone.",
        may_set: MaySet::Root,
        source: "systemd.service(5), ExecStart=",
    },
    aspect: Aspect::Command,
    before: "ExecStart=\n",
    directive: "ExecStart",
    fault_of: |value| {
        let path = value.trim_start_matches(['@', '-', ':', '+', '!']);
        (!path.starts_with('/')).then_some("it does not begin with an absolute path")
    },
};

#[cfg(test)]
mod tests {
    use super::KNOB;
    use crate::knobs::Knob as _;
    use crate::knobs::service::unit_drop_in::tests::{placed, with_service};

    #[test]
    fn the_units_own_command_is_taken_out_of_force_first() {
        let value = "/usr/sbin/nginx -g 'worker_processes 4;'";
        let (root, content) = placed(&KNOB, "nginx.service", value);
        assert!(content.ends_with(&format!("[Service]\nExecStart=\nExecStart={value}\n")), "{content}");
        assert_eq!(KNOB.read(&root, "nginx").unwrap(), value);
        assert_eq!(KNOB.read(&with_service(), "nginx").unwrap(), "");
    }

    #[test]
    fn a_command_has_an_absolute_path() {
        for bad in ["", "nginx", "-nginx", "/bin/x\n[Install]"] {
            assert!(KNOB.change(&with_service(), "nginx", bad).is_err(), "{bad}");
        }
        assert!(KNOB.change(&with_service(), "nginx", "-/bin/x").is_ok());
    }
}
