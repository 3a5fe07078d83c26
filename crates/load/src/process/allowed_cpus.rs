//! The CPUs that this process may use.

use machine::{Class, CpuSet, Fault, Root};

/// From /proc/self/status, `Cpus_allowed_list`. Fails when that cannot be read.
pub(crate) fn read() -> Result<CpuSet, Fault> {
    let path = "/proc/self/status";
    let text = Root::live()
        .read(path)
        .map_err(|why| Fault::new(Class::MachineLacks, path, why, "mount /proc, or name the CPUs"))?;
    parse(&text).map_err(|why| Fault::new(Class::MachineLacks, path, why, "name the CPUs"))
}

fn parse(status: &str) -> Result<CpuSet, String> {
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .ok_or("it has no Cpus_allowed_list")?;
    CpuSet::from_list(list).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_and_its_malformed_twin_is_not() {
        let status = "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1,4\nMems_allowed:\t1\n";
        assert_eq!(parse(status).unwrap().to_list(), "0-1,4");
        assert!(parse("Name:\tx\n").unwrap_err().contains("Cpus_allowed_list"));
        assert!(parse("Cpus_allowed_list:\t1-0\n").unwrap_err().contains("backwards"));
        assert!(!read().unwrap().is_empty());
    }
}
