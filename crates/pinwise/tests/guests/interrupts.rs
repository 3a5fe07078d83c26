//! Where interrupts go: a queue of a network card that is moved, and one of a disk that the kernel does not let go.

use std::collections::BTreeMap;

use machine::irqs::Irq;
use machine::{CpuSet, Machine};

use crate::guest;

/// Echo requests that are sent, each of which raises at least one interrupt of the queue that takes the answer.
const PINGS: u64 = 10;

/// Interrupts since `before`, by CPU, without those CPUs that took none.
fn came(before: &Irq, after: &Irq) -> BTreeMap<u32, u64> {
    let (before, after) = (before.counts.as_ref().unwrap(), after.counts.as_ref().unwrap());
    let since = |(cpu, count): (&u32, &u64)| (*cpu, count - before.get(cpu).unwrap_or(&0));
    after.iter().map(since).filter(|(_, count)| *count > 0).collect()
}

fn named<'a>(machine: &'a Machine, name: &str) -> &'a Irq {
    let found = machine.irqs.iter().find(|irq| irq.name == name);
    found.unwrap_or_else(|| panic!("{name} is none of {:?}", machine.irqs))
}

/// The receive queue that took most interrupts.
fn busiest_input(before: &Machine, after: &Machine) -> String {
    let inputs = after.irqs.iter().filter(|irq| irq.name.contains("-input."));
    let total = |irq: &&Irq| came(named(before, &irq.name), irq).values().sum::<u64>();
    inputs.max_by_key(total).unwrap().name.clone()
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_moved_queue_of_a_card_raises_the_count_of_its_new_cpu_alone() {
    let Some(guest) = guest::like("two-node-smt") else { return };
    // Answers come back through the queue that the requests left by, which is that of the CPU that sends them. Which
    // queue that is, the guest finds out from the counts.
    let outcome = guest::run(
        &guest,
        &format!(
            "send() {{ taskset 4 ping -q -c {PINGS} -i 0.2 10.77.0.1; }}
            counts() {{ awk '/-input\\./ {{ n = 0; for (i = 2; i <= 9; i++) n += $i; print $1 + 0, n }}' /proc/interrupts; }}
            ping -q -c 1 10.77.0.1
            pinwise map --format json > start.json
            counts > counted; send; counts > counted.after
            pinwise map --format json > found.json
            irq=$(paste counted counted.after | awk '$4 - $2 > most {{ most = $4 - $2; irq = $1 }} END {{ print irq }}')
            echo 6 > /proc/irq/$irq/smp_affinity_list
            echo $irq > moved
            send
            pinwise map --format json > before.json
            send
            pinwise map --format json > after.json"
        ),
    );
    let [start, found, before, after] =
        ["start.json", "found.json", "before.json", "after.json"].map(|name| guest::machine(&outcome, name));
    let queue = busiest_input(&start, &found);
    let (was, is) = (named(&found, &queue), named(&after, &queue));
    assert_eq!(guest::text(&outcome, "moved").trim(), is.irq.to_string());
    assert_ne!(was.effective, Some(CpuSet::single(6)));
    assert_eq!((&is.affinity, &is.effective), (&Some(CpuSet::single(6)), &Some(CpuSet::single(6))));
    let came = came(named(&before, &queue), is);
    assert_eq!(came.keys().copied().collect::<Vec<_>>(), [6], "{queue}: {came:?}");
    assert!(came[&6] >= PINGS / 2, "{queue}: {came:?}");
}

/// Runs a study whose trials are to move the interrupt of this name onto CPU 0.
fn refused(guest: &rehearse::Guest, name: &str) {
    let outcome = guest::run(
        guest,
        &format!(
            "export PINWISE_STATE_DIR=/tmp/state
            irq=$(awk '/ {name}$/ {{ print $1 + 0 }}' /proc/interrupts)
            cat /proc/irq/$irq/smp_affinity_list > before
            pinwise study --blocks 1 --window 0.5 --seed 1 --set irq-affinity:$irq=0 -o /tmp/case 2> said || echo $? > code
            cat /proc/irq/$irq/smp_affinity_list > after
            pinwise status --format json > status.json
            pinwise map --format json > map.json"
        ),
    );
    assert_eq!(guest::text(&outcome, "code").trim(), "4");
    let said = guest::text(&outcome, "said");
    for words in ["smp_affinity_list", "the kernel manages this interrupt's CPUs itself", "leave it"] {
        assert!(said.contains(words), "{name}: {said}");
    }
    assert_eq!(guest::text(&outcome, "before"), guest::text(&outcome, "after"), "{name}");
    let status: serde_json::Value = serde_json::from_str(&guest::text(&outcome, "status.json")).unwrap();
    assert!(status["sessions"].as_array().is_none_or(Vec::is_empty), "{name}: {status:#}");
    // Debian's kernels have no CONFIG_GENERIC_IRQ_DEBUGFS: which lines are managed is unknown, and reported as unknown.
    let machine = guest::machine(&outcome, "map.json");
    assert_eq!(named(&machine, name).managed, None);
    let missing =
        machine.missing.iter().find(|missing| missing.fact == "which IRQs are managed by the kernel");
    assert!(missing.is_some_and(|missing| missing.why.contains("debugfs")), "{:?}", machine.missing);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_managed_interrupt_of_an_nvme_disk_is_refused_with_the_reason() {
    let Some(guest) = guest::like("two-node-smt") else { return };
    refused(&guest, "nvme0q2");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_managed_interrupt_of_a_virtio_disk_is_refused_with_the_reason() {
    let Some(guest) = guest::like("plain") else { return };
    refused(&guest, "virtio2-req.1");
}
