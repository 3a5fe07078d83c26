//! Slow CPUs that no rule explains: said plainly, with the largest counter differences as leads.

use std::collections::BTreeMap;

use machine::Missing;
use machine::wording::percent;
use study::statistics::summary::median;
use study::{Contrast, Facts, Seen};

use crate::finding::{EvidenceLine, Finding, Fit, Standing};
use crate::interrupt_rows;
use crate::loss::{Loss, slower_than_others};
use crate::own_cpu::{OwnCpu, Pair, Row, arms_by_cpu};
use crate::rules::interrupts::{Cost, capital};

/// Leads named for one CPU.
const MOST_LEADS: usize = 5;

/// A lead has to weigh at least this share of the CPU's time.
const LEAST_LEAD: f64 = 0.005;

/// A frequency that is this much lower is a lead.
const LEAST_FREQUENCY_DROP: f64 = 0.02;

/// Probes that the rules need.
const NEEDED: [(&str, &str); 3] =
    [("interrupts", "/proc/interrupts"), ("softirqs", "/proc/softirqs"), ("stat", "/proc/stat")];

/// One finding for each slow CPU that `findings` do not explain: none is about it, or those that are were refuted or do
/// not fit in size.
pub fn unexplained(facts: &Facts, findings: &[Finding]) -> Vec<Finding> {
    let own = OwnCpu::of(facts);
    facts
        .evidence
        .slow_cpus()
        .into_iter()
        .filter_map(|contrast| Some((contrast.cpu?, contrast)))
        .filter_map(|(cpu, contrast)| {
            let about: Vec<&Finding> = findings.iter().filter(|f| f.cpu == Some(cpu)).collect();
            (!about.iter().any(|f| explains(f))).then(|| finding(facts, &own, cpu, contrast, &about))
        })
        .collect()
}

fn explains(finding: &Finding) -> bool {
    match finding.standing {
        Standing::Proved | Standing::Imitated | Standing::Supported => true,
        Standing::Possible => finding.fit.may_explain(),
        Standing::Unexplained | Standing::Refuted => false,
    }
}

fn finding(facts: &Facts, own: &OwnCpu, cpu: u32, contrast: &Contrast, about: &[&Finding]) -> Finding {
    let missing = missing(facts, own, cpu);
    let leads = leads(facts, own, cpu);
    let mechanism = match (leads.is_empty(), missing.is_empty()) {
        (false, _) => {
            "Not known. The counters that differ most between this CPU and the others are listed as leads."
        }
        (true, true) => {
            "Not known. No counter differs between this CPU and the others by as much as half a per cent of its time."
        }
        (true, false) => "Not known, and counters that would show it are missing.",
    };
    Finding {
        rule: "unexplained".into(),
        id: format!("unexplained/cpu:{cpu}"),
        title: format!("CPU {cpu} is slow, unexplained"),
        cpu: Some(cpu),
        claim: format!(
            "{}, {}.",
            capital(&slower_than_others(facts, cpu, contrast)),
            why_open(about, &missing)
        ),
        mechanism: mechanism.into(),
        evidence: leads,
        observed: Some(contrast.clone()),
        predicted_loss: None,
        fit: Fit::Unknown,
        agreement: format!("{} of its speed is unexplained", percent(Loss::of(contrast).share)),
        standing: Standing::Unexplained,
        remedy: remedy(cpu, &missing),
        commands: vec![
            "watch -n1 -d cat /proc/interrupts".into(),
            "watch -n1 -d cat /proc/softirqs".into(),
            format!(
                "grep -H . /sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_{{governor,cur_freq,max_freq}}"
            ),
            format!("ps -eLo psr,pcpu,tid,comm --sort=-pcpu | awk '$1 == {cpu}' | head"),
        ],
        missing,
        intervention: None,
        proof: None,
        proof_words: None,
    }
}

/// Why nothing explains it, as the end of a sentence.
fn why_open(about: &[&Finding], missing: &[Missing]) -> String {
    if !about.is_empty() {
        let each: Vec<String> = about
            .iter()
            .map(|f| match f.standing {
                Standing::Refuted => format!("\"{}\" was refuted", f.title),
                _ => format!("\"{}\" does not fit in size", f.title),
            })
            .collect();
        return format!("and that is not explained: {}", each.join(", "));
    }
    if !missing.is_empty() {
        let facts: Vec<&str> = missing.iter().map(|m| m.fact.as_str()).collect();
        return format!("and no rule explains it; missing: {}", facts.join(", "));
    }
    "and no rule explains it".into()
}

fn remedy(cpu: u32, missing: &[Missing]) -> String {
    let keep = format!("Keep the server off CPU {cpu}.");
    match missing.is_empty() {
        true => format!(
            "{keep} Look at what else runs there, its frequency, its SMT sibling and, in a virtual machine, the host."
        ),
        false => format!(
            "{keep} Then study again where the missing counters can be read (as root, outside of a container)."
        ),
    }
}

/// Probes that cannot be compared on this CPU, with the reasons that the trials gave.
fn missing(facts: &Facts, own: &OwnCpu, cpu: u32) -> Vec<Missing> {
    let unknown = NEEDED.iter().filter(|(probe, _)| !own.knows(probe, cpu));
    unknown
        .map(|(probe, file)| {
            let fact = format!("{probe} counters by CPU ({file})");
            Missing::new(fact, reason(facts, probe, file))
        })
        .collect()
}

/// The first reason that a trial gives for the absence of a probe.
fn reason(facts: &Facts, probe: &str, file: &str) -> String {
    let said = |m: &&Missing| m.is_of_probe(probe) || m.fact == file;
    let noted = |seen: &Seen| {
        let observed = seen.observation.iter().flat_map(|o| &o.missing);
        observed.chain(&seen.trial.missing).find(said).map(|m| m.why.clone())
    };
    let unobserved = facts.trials.iter().filter(|s| s.observation.is_none()).count();
    facts.trials.iter().find_map(noted).unwrap_or_else(|| match unobserved {
        0 => "no trial has them, and none says why".into(),
        n => format!("{n} of {} trials have no observation", facts.trials.len()),
    })
}

/// Counters and frequencies that differ most, heaviest first.
fn leads(facts: &Facts, own: &OwnCpu, cpu: u32) -> Vec<EvidenceLine> {
    let cost_ns = {
        let cost = Cost::of(facts);
        (cost.from_ns * cost.to_ns).sqrt()
    };
    // Softirqs are counted, not timed; each weighs as an interrupt does.
    let weight = |row: &Row, pair: Pair| match row.unit.as_str() {
        "us" => pair.excess() / 1e6,
        _ => pair.excess() * cost_ns / 1e9,
    };
    let mut leads: Vec<(f64, EvidenceLine)> = NEEDED
        .iter()
        .flat_map(|(probe, _)| own.rows(probe))
        .filter_map(|r| Some((r, own.pair(&r.probe, &r.name, cpu)?)))
        .map(|(r, pair)| (weight(r, pair), line(r, pair)))
        .filter(|(weight, _)| *weight >= LEAST_LEAD)
        .collect();
    leads.sort_by(|a, b| b.0.total_cmp(&a.0));
    frequency(facts, cpu)
        .into_iter()
        .chain(leads.into_iter().map(|(_, line)| line))
        .take(MOST_LEADS)
        .collect()
}

fn line(row: &Row, pair: Pair) -> EvidenceLine {
    let (what, scale, unit) = match (row.probe.as_str(), row.unit.as_str()) {
        ("interrupts", _) => (interrupt_rows::words(&row.name, &row.label), 1.0, "/s"),
        (_, "us") => (format!("{} time", row.name), 1e4, "% of CPU time"),
        _ => (format!("{} softirqs", row.name), 1.0, "/s"),
    };
    EvidenceLine {
        what: format!("lead: {what} on the server's own CPU"),
        bad: pair.bad / scale,
        good: pair.good / scale,
        unit: unit.into(),
    }
}

/// The clock frequency of the server's own CPU, when it is lower than elsewhere.
fn frequency(facts: &Facts, cpu: u32) -> Option<EvidenceLine> {
    let means: BTreeMap<u32, f64> = arms_by_cpu(facts)
        .into_iter()
        .filter_map(|(cpu, arm)| {
            let gauges = facts.observations(arm).into_iter().flat_map(|o| &o.gauges);
            let own: Vec<f64> = gauges
                .filter(|g| g.probe == "cpufreq")
                .filter_map(|g| g.by_cpu.get(&cpu).map(|s| s.mean))
                .collect();
            Some((cpu, median(&own)?))
        })
        .collect();
    let others: Vec<f64> = means.iter().filter(|(c, _)| **c != cpu).map(|(_, f)| *f).collect();
    let (bad, good) = (*means.get(&cpu)?, median(&others)?);
    (bad < good * (1.0 - LEAST_FREQUENCY_DROP)).then(|| EvidenceLine {
        what: "lead: clock frequency of the server's own CPU".into(),
        bad: bad / 1e3,
        good: good / 1e3,
        unit: "MHz".into(),
    })
}
