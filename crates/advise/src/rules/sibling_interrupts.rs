//! Interrupts take this CPU's SMT sibling: the core's other hardware thread is busy with them and shares the core.

use machine::wording::per_second;
use study::{Contrast, Facts};

use super::interrupts::{Cost, OTHER_OWNERS, capital, commands, irq_moved, stands_out};
use super::{About, Rule};
use crate::finding::{EvidenceLine, Finding, Fit, Standing};
use crate::interrupt_rows::{self, Kind};
use crate::interventions;
use crate::loss::slower_than_others;
use crate::own_cpu::{OwnCpu, Pair, Row};
use crate::siblings::Siblings;

/// The rule.
#[derive(Debug)]
pub struct SiblingInterrupts;

static ABOUT: About = About {
    id: "sibling-interrupts",
    title: "interrupts take this CPU's SMT sibling",
    docs: "For a slow CPU whose core has another hardware thread: compares numbered IRQs on that thread, with the server on \
          the slow CPU, against the siblings of the other CPUs. Both threads share the core's execution units, so work \
          on one slows the other; by how much cannot be predicted from counters. Proof: the IRQ is moved to a CPU of \
          another core. Needs to know the SMT siblings.",
};

impl Rule for SiblingInterrupts {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, facts: &Facts, siblings: &Siblings) -> Vec<Finding> {
        let own = OwnCpu::of(facts);
        // Two threads a core is what there is; of four the first other one is looked at.
        let beside = OwnCpu::watching(facts, |cpu| siblings.of(cpu).first());
        let cost = Cost::of(facts);
        let mut findings = Vec::new();
        for contrast in facts.evidence.cpus_to_explain() {
            let Some(cpu) = contrast.cpu else { continue };
            let Some(sibling) = siblings.of(cpu).first() else { continue };
            let devices = beside
                .rows("interrupts")
                .filter(|r| interrupt_rows::kind(&r.name, &r.label) == Kind::Device)
                .filter_map(|r| Some((r, beside.pair("interrupts", &r.name, cpu)?)));
            for (row, pair) in devices.filter(|(row, pair)| stands_out(row, *pair, cost)) {
                // A row that interrupts the CPU itself is the other rule's.
                let itself = own.pair("interrupts", &row.name, cpu);
                if !itself.is_some_and(|own| stands_out(row, own, cost)) {
                    findings.push(finding(facts, siblings, contrast, (cpu, sibling), (row, pair)));
                }
            }
        }
        findings
    }
}

fn finding(
    facts: &Facts,
    siblings: &Siblings,
    contrast: &Contrast,
    (cpu, sibling): (u32, u32),
    (row, pair): (&Row, Pair),
) -> Finding {
    let words = interrupt_rows::words(&row.name, &row.label);
    let good = interventions::good_cpu(facts, cpu, siblings, |_| true);
    let intervention = good.and_then(|g| irq_moved(facts, &row.name, &row.label, sibling, cpu, g));
    Finding {
        rule: ABOUT.id.into(),
        id: format!("{}/cpu:{cpu}/sibling:{sibling}/{}", ABOUT.id, row.name),
        title: format!("interrupts take CPU {sibling}, the SMT sibling of CPU {cpu}: {words}"),
        cpu: Some(cpu),
        claim: format!(
            "{}, and {words} arrive on its SMT sibling CPU {sibling} at {} against {}.",
            capital(&slower_than_others(facts, cpu, contrast)),
            per_second(pair.bad),
            per_second(pair.good)
        ),
        mechanism: format!(
            "CPU {cpu} and CPU {sibling} are threads of one core: while CPU {sibling} serves the interrupt and the softirq work \
             that follows, the server gets only part of the core's execution units."
        ),
        evidence: vec![EvidenceLine {
            what: format!("{words} on the SMT sibling of the server's CPU"),
            bad: pair.bad,
            good: pair.good,
            unit: "/s".into(),
        }],
        observed: Some(contrast.clone()),
        predicted_loss: None,
        fit: Fit::Unknown,
        agreement:
            "what a sibling's work costs depends on what both threads execute, so no loss is predicted".into(),
        standing: Standing::Possible,
        missing: Vec::new(),
        remedy: format!(
            "Keep the server off the whole core (CPU {cpu} and CPU {sibling}), or move IRQ {} to a core that the server does not \
             use. {OTHER_OWNERS}",
            row.name
        ),
        commands: commands(Kind::Device, row, good),
        intervention,
        proof: None,
        proof_words: None,
    }
}
