//! The allocation that this process runs in.

use std::collections::BTreeSet;

use machine::{Class, Fault};

use super::node_list;
use crate::host::{HostSpec, Role, Via};
use crate::transport::STEP;

/// The note of a recipe that names the node of the server. Its load hosts are among its hosts.
pub const SERVER_NODE: &str = "slurm_server_node";

/// Most nodes that a message names.
const MOST_NAMED: usize = 40;

/// The allocation of Slurm that a process runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Number of the job.
    pub job: u32,
    /// Names of its nodes, as Slurm has them.
    pub nodes: Vec<String>,
    /// The one of them that the process runs on.
    pub here: String,
}

impl Allocation {
    /// That of this process; none where it is in no job.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn current() -> Result<Option<Self>, Fault> {
        let uname = rustix::system::uname();
        Self::of(|name| std::env::var(name).ok(), &uname.nodename().to_string_lossy())
    }

    /// That of a process with these variables, on the host of this name.
    ///
    /// # Errors
    /// What Slurm sets is malformed; the job is heterogeneous; the host is none of its nodes, as where salloc(1) runs its shell.
    pub fn of(variable: impl Fn(&str) -> Option<String>, hostname: &str) -> Result<Option<Self>, Fault> {
        let given = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let Some(job) = given("SLURM_JOB_ID") else { return Ok(None) };
        let job: u32 = job.trim().parse().map_err(|wrong| {
            Fault::new(Class::Usage, "SLURM_JOB_ID", wrong, "unset it, or run this within a job of Slurm")
        })?;
        if given("SLURM_HET_SIZE").is_some() {
            let cause = "it is heterogeneous, and steps of a study go across all nodes of a job";
            let remedy = "ask for one allocation of as many nodes: sbatch --exclusive --nodes=N";
            return Err(Fault::new(Class::Usage, format!("job {job}"), cause, remedy));
        }
        let list = given("SLURM_JOB_NODELIST").or_else(|| given("SLURM_NODELIST")).ok_or_else(|| {
            let remedy = "run this within an allocation, where Slurm sets it";
            Fault::new(Class::Usage, format!("job {job}: SLURM_JOB_NODELIST"), "is not set", remedy)
        })?;
        let nodes = node_list::expand(&list)?;
        let by_slurm = given("SLURMD_NODENAME");
        let short = hostname.split('.').next().unwrap_or(hostname);
        let mut names = by_slurm.as_deref().into_iter().chain([hostname, short]);
        let here = names.find(|name| nodes.iter().any(|node| node == name)).map(String::from);
        match here {
            Some(here) => Ok(Some(Self { job, nodes, here })),
            None => Err(elsewhere(job, &nodes, hostname)),
        }
    }

    /// Its nodes but the one that this process runs on.
    pub fn others(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(String::as_str).filter(move |node| *node != self.here)
    }

    /// The other nodes as hosts that drive load. What `like` says of one of the same name, of one in the same place, or of its last one,
    /// holds for each: its processes, unless `processes` says their number, its CPUs and its folder.
    pub fn load_hosts(&self, like: &[HostSpec], processes: Option<u32>) -> Vec<HostSpec> {
        let like: Vec<&HostSpec> = like.iter().filter(|host| host.role == Role::Load).collect();
        let host = |(at, node): (usize, &str)| {
            let same = like.iter().find(|host| host.name == node);
            let of = same.or_else(|| like.get(at)).or_else(|| like.last());
            HostSpec {
                via: Via::Srun,
                role: Role::Load,
                processes: processes.or_else(|| of.map(|of| of.processes)).unwrap_or(1),
                cpus: of.and_then(|of| of.cpus.clone()),
                folder: of.and_then(|of| of.folder.clone()),
                ..HostSpec::named(node)
            }
        };
        self.others().enumerate().map(host).collect()
    }
}

/// The process runs beside the allocation.
fn elsewhere(job: u32, nodes: &[String], hostname: &str) -> Fault {
    let cause = format!("this host, {hostname}, is none of its nodes ({})", listed(nodes));
    let first = nodes.first().map(String::as_str).unwrap_or_default();
    let remedy = format!("run it on one of them: {} pinwise ...", step_on(first));
    Fault::new(Class::Usage, format!("job {job}"), cause, remedy)
}

/// The step that runs a command on one node of an allocation, beside whatever else runs there.
fn step_on(node: &str) -> String {
    format!("srun {} --nodelist={node}", STEP.join(" "))
}

/// Holds the allocation that a study goes on in to that of its case: its blocks compare places of those hosts. `server` and `load` are the
/// nodes of the case; `resume` is the command that goes on with it.
///
/// # Errors
/// There is no allocation, it has other nodes, or this one is not that of the server; the fault names the nodes of both.
pub fn check_same_nodes(
    allocation: Option<&Allocation>,
    server: &str,
    load: &[String],
    resume: &str,
) -> Result<(), Fault> {
    let of_case: BTreeSet<&str> = load.iter().map(String::as_str).chain([server]).collect();
    let case = match load.is_empty() {
        true => server.to_string(),
        false => format!("{server} (server) and {}", listed(load)),
    };
    let again = || {
        let nodes = of_case.iter().copied().collect::<Vec<_>>().join(",");
        let wrapped = shell_words::quote(resume).into_owned();
        format!(
            "stay on its nodes: sbatch --exclusive --nodes={} --nodelist={} --wrap {wrapped}",
            of_case.len(),
            shell_words::quote(&nodes)
        )
    };
    let refused =
        |cause: String, remedy: String| Err(Fault::new(Class::Usage, "nodes of the case", cause, remedy));
    let Some(allocation) = allocation else {
        return refused(format!("it ran on {case}, and this is not a job of Slurm"), again());
    };
    let of_job: BTreeSet<&str> = allocation.nodes.iter().map(String::as_str).collect();
    if of_job != of_case {
        let job = format!("job {} has {}", allocation.job, listed(&allocation.nodes));
        return refused(format!("it ran on {case}, and {job}: blocks stay on their hosts"), again());
    }
    if allocation.here != server {
        let cause = format!("it ran on {case}, and this process runs on {}", allocation.here);
        return refused(cause, format!("run it there: {} {resume}", step_on(server)));
    }
    Ok(())
}

/// Names for a message, not all of very many.
fn listed(nodes: &[String]) -> String {
    let named = nodes.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match nodes.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)], hostname: &str) -> Result<Option<Allocation>, Fault> {
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        Allocation::of(value, hostname)
    }

    fn three_nodes() -> Allocation {
        let variables = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_NODELIST", "n[1-3]"),
            ("SLURMD_NODENAME", "n1"),
            ("SLURM_HET_SIZE", ""),
        ];
        of(&variables, "login").unwrap().unwrap()
    }

    #[test]
    fn an_allocation_is_what_slurm_says_in_the_environment() {
        let allocation = three_nodes();
        assert_eq!((allocation.job, allocation.here.as_str()), (7, "n1"));
        assert_eq!(allocation.others().collect::<Vec<_>>(), ["n2", "n3"]);
        assert_eq!(of(&[("SLURM_JOB_NODELIST", "n[1-3]")], "n1").unwrap(), None);
        let by_name =
            of(&[("SLURM_JOB_ID", "7"), ("SLURM_NODELIST", "n[1-3]")], "n2.cluster.example").unwrap();
        assert_eq!(by_name.unwrap().here, "n2");
    }

    #[test]
    fn a_process_beside_the_allocation_and_a_heterogeneous_job_are_refused() {
        let job = [("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "n[1-3]")];
        let fault = of(&job, "login").unwrap_err();
        assert!(fault.cause.contains("login") && fault.cause.contains("n1, n2, n3"), "{fault}");
        assert!(fault.remedy.contains("--overlap") && fault.remedy.contains("--nodelist=n1 "), "{fault}");
        let several = [&job[..], &[("SLURM_HET_SIZE", "2")]].concat();
        assert!(of(&several, "n1").unwrap_err().to_string().contains("heterogeneous"));
        assert!(of(&[("SLURM_JOB_ID", "7")], "n1").unwrap_err().to_string().contains("SLURM_JOB_NODELIST"));
        assert!(of(&[("SLURM_JOB_ID", "x")], "n1").is_err());
        assert!(of(&[("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "n[1-")], "n1").is_err());
    }

    #[test]
    fn the_other_nodes_drive_load_as_the_recipe_says() {
        let allocation = three_nodes();
        let plain = allocation.load_hosts(&[], None);
        assert_eq!(plain.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["n2", "n3"]);
        assert!(
            plain.iter().all(|host| host.via == Via::Srun && host.role == Role::Load && host.processes == 1)
        );
        crate::host::check_all(&plain).unwrap();

        let like = [
            HostSpec { processes: 3, cpus: Some("0".into()), ..HostSpec::named("b") },
            HostSpec { processes: 2, ssh: Some("ann@c".into()), ..HostSpec::named("n2") },
        ];
        let hosts = allocation.load_hosts(&like, None);
        assert_eq!((hosts[0].processes, &hosts[0].cpus), (2, &None), "of the same name");
        assert_eq!((hosts[1].processes, &hosts[1].cpus), (2, &None), "in the same place");
        let hosts = allocation.load_hosts(&like[..1], Some(5));
        assert!(hosts.iter().all(|host| host.processes == 5 && host.cpus.as_deref() == Some("0")));
        crate::host::check_all(&hosts).unwrap();
    }

    #[test]
    fn a_study_goes_on_on_its_own_nodes_alone() {
        let (allocation, load) = (three_nodes(), ["n2".to_string(), "n3".to_string()]);
        let check = |allocation: Option<&Allocation>, server: &str, load: &[String]| {
            check_same_nodes(allocation, server, load, "pinwise resume 'my case'")
        };
        check(Some(&allocation), "n1", &load).unwrap();
        let fault = check(None, "n1", &load).unwrap_err();
        assert!(fault.cause.contains("n1 (server) and n2, n3"), "{fault}");
        let command = fault.remedy.split_once(": ").unwrap().1;
        let words = shell_words::split(command).unwrap();
        assert_eq!(words[1..4], ["--exclusive", "--nodes=3", "--nodelist=n1,n2,n3"]);
        assert_eq!(words.last().unwrap(), "pinwise resume 'my case'");
        let others = check(Some(&allocation), "n1", &load[..1]).unwrap_err();
        assert!(others.cause.contains("n1 (server) and n2, and job 7 has n1, n2, n3"), "{others}");
        let there = check(Some(&allocation), "n2", &["n1".to_string(), "n3".to_string()]).unwrap_err();
        assert!(
            there.cause.contains("runs on n1") && there.remedy.contains("--nodelist=n2 pinwise"),
            "{there}"
        );
        assert!(check(Some(&allocation), "n1", &[]).is_err());
    }

    #[test]
    fn very_many_nodes_are_not_all_named() {
        let nodes: Vec<String> = (0..100).map(|number| format!("n{number}")).collect();
        assert!(listed(&nodes).ends_with("n39 and 60 more"));
    }
}
