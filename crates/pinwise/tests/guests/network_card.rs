//! A network card with several queues is set by a plan, and comes back.

use std::collections::BTreeMap;

use machine::devices::DeviceKind;
use machine::devices::ethtool::Ethtool;
use machine::{CpuSet, Machine};

use crate::guest;

const PLAN: &str = r#"
[[setting]]
knob = "channels"
target = "eth0"
value = "combined:2"
[[setting]]
knob = "gro"
target = "eth0"
value = "off"
[[setting]]
knob = "device-irqs"
target = "eth0"
value = "spread:3,6"
[[setting]]
knob = "coalescing"
target = "eth0"
value = "tx-frames:0"
"#;

fn card(machine: &Machine) -> &Ethtool {
    machine.device(DeviceKind::Net, "eth0").unwrap().ethtool.as_ref().unwrap()
}

/// Where the interrupts of the card may go, by name.
fn affinities(machine: &Machine) -> BTreeMap<&str, &CpuSet> {
    let of_card = machine.irqs.iter().filter(|irq| irq.devices.iter().any(|name| name == "eth0"));
    of_card.map(|irq| (irq.name.as_str(), irq.affinity.as_ref().unwrap())).collect()
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn channels_coalescing_offload_and_interrupts_of_a_card_are_set_and_come_back() {
    let Some(guest) = guest::like("two-node-smt") else { return };
    // The driver switches its transmit interrupts (tx-frames:0) only while the link is down.
    let outcome = guest::run(
        &guest,
        &format!(
            "export PINWISE_STATE_DIR=/tmp/state
            cat > plan.toml << 'END'\n{PLAN}\nEND
            pinwise map --format json > before.json
            pinwise apply plan.toml > /dev/null 2> refused || echo $? > refused.code
            pinwise map --format json > refused.json
            pinwise status > refused.status
            ip link set eth0 down
            pinwise apply plan.toml > applied.said 2>&1
            ip link set eth0 up
            ping -q -c 2 10.77.0.1 > pinged
            pinwise map --format json > applied.json
            ip link set eth0 down
            pinwise undo > undone.said 2>&1
            ip link set eth0 up
            ping -q -c 2 10.77.0.1 >> pinged
            pinwise map --format json > undone.json
            pinwise status > undone.status"
        ),
    );
    let [before, refused, applied, undone] = ["before.json", "refused.json", "applied.json", "undone.json"]
        .map(|name| guest::machine(&outcome, name));
    // What was done before the refusal was taken back.
    assert_eq!(guest::text(&outcome, "refused.code").trim(), "4");
    let said = guest::text(&outcome, "refused");
    assert!(said.contains("interrupt coalescing of eth0") && said.contains("link down"), "{said}");
    let figures = |machine: &Machine| {
        let channels = card(machine).channels.as_ref().unwrap().combined;
        (channels, card(machine).coalesce.as_ref().unwrap().tx_max_frames)
    };
    assert_eq!((figures(&before), figures(&refused)), ((Some(4), Some(1)), (Some(4), Some(1))));
    let said = guest::text(&outcome, "applied.said");
    assert_eq!(figures(&applied), (Some(2), Some(0)), "{said}");
    for (name, cpus) in affinities(&applied) {
        let queue = name.rsplit_once('.').and_then(|(_, number)| number.parse::<u32>().ok());
        match queue {
            Some(queue) => assert_eq!(*cpus, CpuSet::single(if queue % 2 == 0 { 3 } else { 6 }), "{name}"),
            None => assert_eq!(Some(&cpus), affinities(&before).get(name), "{name}"),
        }
    }
    let said = guest::text(&outcome, "undone.said");
    assert_eq!(card(&undone), card(&before), "{said}");
    assert_eq!(affinities(&undone), affinities(&before), "{said}");
    for status in ["refused.status", "undone.status"] {
        let text = guest::text(&outcome, status);
        assert_eq!(text.trim(), "Nothing is changed on this machine by pinwise.");
    }
}
