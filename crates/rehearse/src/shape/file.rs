//! The shape file: TOML that says where the CPUs sit, group by group.

use std::collections::BTreeMap;
use std::path::Path;

use machine::{Class, CpuSet, Fault, untrusted};
use serde::Deserialize;

use super::{Core, Disk, IdleState, Nic, Node, Shape};

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    about: String,
    /// Row by row, in the order of the nodes.
    #[serde(default)]
    distances: Vec<Vec<u32>>,
    /// `4-7`.
    #[serde(default)]
    offline: String,
    /// `6-7`.
    #[serde(default)]
    absent: String,
    #[serde(default, rename = "node")]
    nodes: Vec<WrittenNode>,
    #[serde(rename = "cores")]
    groups: Vec<Group>,
    #[serde(default, rename = "nic")]
    nics: Vec<Nic>,
    #[serde(default, rename = "disk")]
    disks: Vec<Disk>,
    #[serde(default, rename = "idle_state")]
    idle_states: Vec<IdleState>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNode {
    id: u32,
    memory_mb: u64,
}

/// Cores that sit in one place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    #[serde(default)]
    package: u32,
    #[serde(default)]
    die: u32,
    node: Option<u32>,
    /// CPU numbers of each core, first thread first.
    cpus: Vec<Vec<u32>>,
}

/// A shape takes some thousand bytes, and may come out of a pipe.
const LONGEST_BYTES: u64 = 64 << 20;

/// Reads a shape file.
///
/// # Errors
/// When it cannot be read, is malformed (with line and column), or describes what cannot be made.
pub(super) fn read(path: &Path) -> Result<Shape, Fault> {
    let text = untrusted::file::read_text(path, LONGEST_BYTES)
        .map_err(|e| Fault::io(path.display(), &e, "name a shape file that can be read"))?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    parse(&name, &text)
}

/// Parses the text of a shape file.
pub(super) fn parse(name: &str, text: &str) -> Result<Shape, Fault> {
    let malformed = |why: String| {
        Fault::new(
            Class::Usage,
            format!("shape {name}"),
            why,
            "see docs/rehearse.md for the form of a shape file",
        )
    };
    let written: Written = toml::from_str(text).map_err(|e| malformed(e.to_string().trim().to_string()))?;
    let list = |key: &str, text: &str| {
        CpuSet::from_list(text).map_err(|why| malformed(format!("{key} = {:?}: {}", why.text, why.why)))
    };
    let shape = Shape {
        name: name.to_string(),
        offline: list("offline", &written.offline)?,
        absent: list("absent", &written.absent)?,
        nodes: nodes(&written.nodes, &written.distances).map_err(malformed)?,
        about: written.about,
        cores: written.groups.into_iter().flat_map(Group::into_cores).collect(),
        nics: written.nics,
        disks: written.disks,
        idle_states: written.idle_states,
        differs: Vec::new(),
    };
    shape.check()?;
    Ok(shape)
}

impl Group {
    fn into_cores(self) -> impl Iterator<Item = Core> {
        let Self { package, die, node, cpus } = self;
        cpus.into_iter().map(move |cpus| Core { package, die, node, cpus })
    }
}

/// Joins nodes with the rows of the distance table. Without one, distances are ACPI's default: 10 and 20.
fn nodes(written: &[WrittenNode], rows: &[Vec<u32>]) -> Result<Vec<Node>, String> {
    if !rows.is_empty() && (rows.len() != written.len() || rows.iter().any(|row| row.len() != written.len()))
    {
        return Err(format!("distances must have {0} rows of {0} figures, one for each node", written.len()));
    }
    let distance = |from: usize, to: usize| match rows.get(from) {
        Some(row) => row[to],
        None if from == to => 10,
        None => 20,
    };
    let row = |from: usize| -> BTreeMap<u32, u32> {
        written.iter().enumerate().map(|(to, node)| (node.id, distance(from, to))).collect()
    };
    let nodes = written.iter().enumerate();
    Ok(nodes.map(|(at, node)| Node { id: node.id, memory_mb: node.memory_mb, distances: row(at) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        parse("x", text).unwrap_err().to_string()
    }

    #[test]
    fn groups_become_cores() {
        let shape = parse(
            "x",
            "about = 'a'\noffline = '3'\n[[node]]\nid = 0\nmemory_mb = 100\n[[cores]]\nnode = 0\npackage = 1\ncpus = [[0, 2], [1, 3]]\n",
        )
        .unwrap();
        let core = |cpus: &[u32]| Core { package: 1, die: 0, node: Some(0), cpus: cpus.to_vec() };
        assert_eq!(shape.cores, [core(&[0, 2]), core(&[1, 3])]);
        assert_eq!(shape.nodes[0].distances, BTreeMap::from([(0, 10)]));
        assert_eq!(shape.offline, CpuSet::single(3));
    }

    #[test]
    fn what_is_malformed_is_reported_by_place() {
        assert!(fault("about = 'a'\ncores = 3").contains("line 2"), "{}", fault("about = 'a'\ncores = 3"));
        assert!(fault("about = 'a'\nsockets = 3\ncores = []").contains("unknown field `sockets`"));
        let rows = "about = 'a'\ndistances = [[10, 20]]\n[[node]]\nid = 0\nmemory_mb = 64\n[[cores]]\nnode = 0\ncpus = [[0]]";
        assert!(fault(rows).contains("1 rows of 1"), "{}", fault(rows));
        let list = "about = 'a'\noffline = '3-'\n[[cores]]\ncpus = [[0]]";
        assert!(fault(list).contains("offline"), "{}", fault(list));
    }
}
