//! Programs of Slurm.

use std::io::Write;
use std::process::{Command, Stdio};

use machine::{Class, Fault};

use crate::transport::program;

/// Hands a script to sbatch(1); the number of its job.
///
/// # Errors
/// sbatch is not installed, or refuses; the fault has what it printed.
pub fn submit(script: &str) -> Result<u32, Fault> {
    let sbatch = program("sbatch").ok_or_else(|| {
        let remedy =
            "run it on a host of the cluster that can submit jobs, or print the script: --print-script";
        Fault::new(Class::MachineLacks, "sbatch", "the program is not installed", remedy)
    })?;
    let refused = |cause: String| {
        let remedy =
            "see sinfo(1), and give what your site asks for after --: -- --partition=NAME --time=MINUTES";
        Fault::new(Class::WorkloadFailed, "sbatch", cause, remedy)
    };
    let failed = |error: std::io::Error| Fault::io(sbatch.display(), &error, "see whether it can be run");
    let mut command = Command::new(&sbatch);
    command.arg("--parsable").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    // Where it refuses without reading all of it, what it prints says why.
    let _ = child.stdin.take().map(|mut input| input.write_all(script.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match (output.status.success(), job(&stdout)) {
        (true, Some(job)) => Ok(job),
        (true, None) => Err(refused(format!("it names no job: {}", stdout.trim()))),
        (false, _) if stderr.trim().is_empty() => Err(refused(output.status.to_string())),
        (false, _) => Err(refused(stderr.trim().to_string())),
    }
}

/// The job of `sbatch --parsable`: its number, with `;` and the cluster where there are several.
fn job(said: &str) -> Option<u32> {
    said.trim().split(';').next()?.parse().ok()
}

/// Whether no other job may run on the nodes of this one; none where Slurm does not say.
pub fn is_exclusive(job: u32) -> Option<bool> {
    let shown = printed("scontrol", &["show", "job", &job.to_string()])?;
    Some(over_subscribe(&shown)? == "NO")
}

/// `OverSubscribe` of what `scontrol show job` prints: NO of an exclusive job, else YES, OK, USER or MCS.
fn over_subscribe(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix("OverSubscribe="))
}

/// What a program prints that ends well.
pub(super) fn printed(name: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program(name)?);
    let output = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_a_job_is_alone_is_among_what_slurm_says_of_it() {
        assert_eq!(over_subscribe("JobId=7 JobName=x\n   OverSubscribe=NO Contiguous=0\n"), Some("NO"));
        assert_eq!(over_subscribe("slurm_load_jobs error: Invalid job id specified\n"), None);
    }

    #[test]
    fn a_job_is_a_number_whatever_cluster_it_is_on() {
        assert_eq!(job("4711\n"), Some(4711));
        assert_eq!(job("4711;fat\n"), Some(4711));
        assert_eq!(job("Submitted batch job 4711"), None);
        assert_eq!(job(""), None);
    }
}
