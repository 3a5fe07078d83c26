//! One running server in words: where it may run.

use machine::processes::Server;
use machine::{CpuSet, Fault};
use report::number;
use serde_json::{Value, json};

use super::{Said, fields, length, picked};

/// The map of one server.
pub fn of(document: &Value) -> Result<Said, Fault> {
    let server: Server = fields(document, "map --process")?;
    let cpus = server.cpus();
    let may_run = if cpus.is_empty() { "not known".to_string() } else { cpus.to_list() };
    let mut lines = vec![format!(
        "{}: {}, {}; CPUs on which they may run: {may_run}.",
        server.target,
        number::counted(server.processes.len(), "process"),
        number::counted(server.threads().count(), "thread")
    )];
    let remarks = length(document.get("remarks"));
    if remarks > 0 {
        lines.push(format!("{} about it in the structured answer.", number::counted(remarks, "remark")));
    }
    if !server.missing.is_empty() {
        lines.push(format!("Not known: {}.", number::counted(server.missing.len(), "fact")));
    }
    let processes = server.processes.iter();
    let processes: Vec<Value> = processes
        .map(|process| {
            let cpus =
                process.threads.iter().filter_map(|thread| thread.cpus.as_ref()).flat_map(CpuSet::iter);
            let cpus = cpus.collect::<CpuSet>().to_list();
            json!({"pid": process.pid, "comm": process.comm, "threads": process.threads.len(), "cpus": cpus})
        })
        .collect();
    let mut summary = picked(document, &["target", "unit", "cgroup", "memory", "remarks", "missing"]);
    summary["processes"] = Value::Array(processes);
    Ok(Said::of(lines, summary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_which_little_is_known() {
        let said = of(&json!({"target": "nginx", "processes": [], "remarks": [], "missing": []})).unwrap();
        assert_eq!(said.words, "nginx: 0 processes, 0 threads; CPUs on which they may run: not known.");
        assert!(of(&json!({"target": 5})).is_err());
    }
}
