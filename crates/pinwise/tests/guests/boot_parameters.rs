//! Which boot parameters took effect, according to kernels that were booted with them.

use machine::Machine;
use machine::kernel::boot::BootParameter;
use machine::kernel::boot::Taker::{Module, NoModule, NotTold};

use super::guest;

/// The map of a guest that was booted with these parameters.
fn booted(shape: &str, parameters: &str) -> Option<Machine> {
    let guest = guest::like(shape)?.cmdline(parameters);
    Some(guest::machine(&guest::run(&guest, "pinwise map --format json > map.json"), "map.json"))
}

fn parameter<'a>(machine: &'a Machine, name: &str) -> &'a BootParameter {
    let mut known = machine.kernel.boot.iter();
    known.find(|known| known.name == name).unwrap_or_else(|| panic!("{name}: {:?}", machine.kernel.boot))
}

fn states(machine: &Machine) -> Vec<&str> {
    machine.idle.states.iter().map(|state| state.name.as_str()).collect()
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn max_cstate_of_one_and_of_zero_leave_the_same_states() {
    let Some(free) = booted("deep-idle", "") else { return };
    assert_eq!(states(&free), ["POLL", "C1", "C2", "C3"]);
    let latencies: Vec<_> = free.idle.states.iter().filter_map(|state| state.exit_latency_us).collect();
    assert_eq!(latencies, [0, 2, 20, 133]);
    for (asked, word) in [("1", None), ("0", Some("0 is taken as 1"))] {
        let Some(machine) = booted("deep-idle", &format!("processor.max_cstate={asked}")) else { return };
        // Published: max_cstate=0 really sets 1.
        assert_eq!(states(&machine), ["POLL", "C1"], "{asked}");
        let reported = parameter(&machine, "processor.max_cstate");
        assert_eq!(reported.took_effect, Some(true), "{reported:?}");
        let now = reported.now.as_deref().unwrap();
        assert!(now.starts_with("acpi_idle, deepest state C1"), "{now}");
        assert_eq!(word.is_some(), now.contains("0 is taken as 1"), "{now}");
    }
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_latency_limit_that_is_held_is_reported_and_keeps_deep_states_away() {
    let Some(guest) = guest::like("deep-idle") else { return };
    let script = "\
        usage() { cat /sys/devices/system/cpu/cpu*/cpuidle/state$1/usage | paste -s -d+ | busybox bc; }\n\
        pinwise map --format json > free.json\n\
        a=$(usage 3); sleep 2; b=$(usage 3); echo $((b - a)) > free\n\
        exec 3<> /dev/cpu_dma_latency; printf '\\005\\000\\000\\000' >&3\n\
        pinwise map --format json > held.json\n\
        a=$(usage 3); sleep 2; b=$(usage 3); echo $((b - a)) > held\n";
    let outcome = guest::run(&guest, script);
    assert_eq!(guest::machine(&outcome, "free.json").power.latency_limit_us, None);
    let held = guest::machine(&outcome, "held.json");
    assert_eq!(held.power.latency_limit_us, Some(5));
    let allowed = held.idle.under_limits().into_iter().rfind(|row| row.limit_us <= 5).unwrap().allowed;
    assert_eq!(allowed, ["POLL", "C1"]);
    let entries = |name: &str| guest::text(&outcome, name).trim().parse::<i64>().unwrap();
    assert!(entries("free") > 10, "the control: {} entries of C3", entries("free"));
    assert_eq!(entries("held"), 0);
}

/// Some that take effect, some that are misspelt, some that leave no trace.
const SLIPS: &str = "nohz=off nohz_ful=2-3 isolcpu=3 skew_tick=1 isolcpus=3 nosmt procesor.max_cstate=1 \
    processor.max_cstates=1 frobnicate.x=1 workqueue.power_efficient=0 kvm_intel.nested=1 systemd.show_status=0";

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_tick_that_never_stops_a_slip_of_the_pen_and_what_no_file_shows() {
    let Some(machine) = booted("plain", SLIPS) else { return };
    let tick = parameter(&machine, "nohz");
    assert_eq!((tick.took_effect, tick.now.as_deref()), (Some(true), Some("the tick never stops")));
    for (slip, meant) in [("nohz_ful", "nohz_full"), ("isolcpu", "isolcpus")] {
        let reported = parameter(&machine, slip);
        assert_eq!(reported.took_effect, Some(false), "{reported:?}");
        assert!(
            reported.now.as_deref().unwrap().contains(&format!("{meant} was probably meant")),
            "{reported:?}"
        );
    }
    assert_eq!(
        machine.kernel.unknown_parameters.as_deref(),
        Some(&["nohz_ful".to_string(), "isolcpu".into()][..])
    );
    for (slip, says) in [
        ("procesor.max_cstate", "no module procesor; processor.max_cstate was probably meant"),
        ("processor.max_cstates", "module processor has no such parameter"),
    ] {
        let reported = parameter(&machine, slip);
        assert_eq!(reported.took_effect, Some(false), "{reported:?}");
        assert!(reported.now.as_deref().unwrap().contains(says), "{reported:?}");
    }
    let takers = machine.kernel.module_parameters.as_ref().unwrap();
    let of = |name: &str| takers.get(name).copied();
    assert_eq!((of("frobnicate.x"), of("workqueue.power_efficient")), (Some(NoModule), Some(Module)));
    // Installed for this kernel, and not taken along into the guest.
    assert_eq!((of("kvm_intel.nested"), of("systemd.show_status")), (Some(NotTold), None));
    assert_eq!(parameter(&machine, "isolcpus").took_effect, Some(true));
    assert_eq!(parameter(&machine, "skew_tick").took_effect, None);
    let Some(usual) = booted("plain", "nohz=on") else { return };
    assert_eq!(parameter(&usual, "nohz").took_effect, Some(true));
    assert_eq!(usual.kernel.unknown_parameters.as_deref(), Some(&[][..]));
}
