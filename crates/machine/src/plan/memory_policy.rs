//! Where the memory of a process comes from: the policies of set_mempolicy(2), in the words of numactl(8).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Class, CpuSet, Fault, Machine};

/// How nodes are used (`MPOL_*` of include/uapi/linux/mempolicy.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryMode {
    /// Of these nodes only.
    Bind,
    /// Page by page from each in turn.
    Interleave,
    /// From this node while it has memory.
    Preferred,
    /// From the node that runs the thread which touches it first.
    Local,
}

impl MemoryMode {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Bind, "bind"),
        (Self::Interleave, "interleave"),
        (Self::Preferred, "preferred"),
        (Self::Local, "local"),
    ];

    /// The number of set_mempolicy(2).
    pub fn number(self) -> i32 {
        match self {
            Self::Preferred => 1,
            Self::Bind => 2,
            Self::Interleave => 3,
            Self::Local => 4,
        }
    }
}

impl fmt::Display for MemoryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(mode, _)| mode == self).map_or("", |(_, word)| word))
    }
}

/// A policy and the nodes that it names; written `bind:0`, `interleave:0-3`, `preferred:1`, `local`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MemoryPolicy {
    /// How.
    pub mode: MemoryMode,
    /// NUMA nodes by number; none for `local`.
    pub nodes: CpuSet,
}

const FORM: &str = "write bind:NODES, interleave:NODES, preferred:NODE or local; NODES is a list such as 0-3";

impl MemoryPolicy {
    /// Fails when it names a node that `machine` does not have, or that has no memory.
    pub fn check(&self, machine: &Machine) -> Result<(), Fault> {
        let with_memory: CpuSet =
            machine.nodes.iter().filter(|node| node.memory_bytes != Some(0)).map(|node| node.id).collect();
        let absent = self.nodes.difference(&with_memory);
        match absent.is_empty() {
            true => Ok(()),
            false => Err(Fault::new(
                Class::Usage,
                format!("memory {self}"),
                format!("node {absent} is not there or has no memory (with memory: {with_memory})"),
                FORM,
            )),
        }
    }
}

impl FromStr for MemoryPolicy {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        Self::parse(text).map_err(|why| Fault::new(Class::Usage, format!("memory {text}"), why, FORM))
    }
}

impl MemoryPolicy {
    /// Reads `bind:0-1` and the like; the error says what is wrong with it, in words.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (word, nodes) = text.split_once(':').unwrap_or((text, ""));
        let (mode, _) = *MemoryMode::ALL
            .iter()
            .find(|(_, name)| *name == word)
            .ok_or_else(|| format!("'{word}' is not a policy"))?;
        let nodes = match nodes {
            "" => CpuSet::default(),
            list => CpuSet::from_list(list).map_err(|why| why.to_string())?,
        };
        match (mode, nodes.iter().count()) {
            (MemoryMode::Local, 0) | (MemoryMode::Preferred, 1) => {}
            (MemoryMode::Bind | MemoryMode::Interleave, 1..) => {}
            (_, number) => return Err(format!("{word} does not go with {number} nodes")),
        }
        Ok(Self { mode, nodes })
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.mode)?;
        if self.nodes.is_empty() { Ok(()) } else { write!(f, ":{}", self.nodes) }
    }
}

impl From<MemoryPolicy> for String {
    fn from(policy: MemoryPolicy) -> Self {
        policy.to_string()
    }
}

impl TryFrom<String> for MemoryPolicy {
    type Error = Fault;

    fn try_from(text: String) -> Result<Self, Fault> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::nodes::Node;

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["bind:0", "interleave:0-3,7", "preferred:1", "local"] {
            assert_eq!(text.parse::<MemoryPolicy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_policy_is_named() {
        for (text, why) in [
            ("", "not a policy"),
            ("weighted:0", "'weighted'"),
            ("bind", "0 nodes"),
            ("preferred:0-1", "2 nodes"),
            ("local:0", "1 nodes"),
            ("bind:x", ""),
        ] {
            let fault = text.parse::<MemoryPolicy>().unwrap_err();
            assert!(fault.to_string().contains(why) && fault.remedy.contains("interleave"), "{fault}");
        }
    }

    #[test]
    fn nodes_must_be_there_and_have_memory() {
        let node = |id, memory_bytes| Node { id, memory_bytes: Some(memory_bytes), ..Node::default() };
        let machine = Machine { nodes: vec![node(0, 1 << 30), node(2, 0)], ..Machine::default() };
        let check = |text: &str| text.parse::<MemoryPolicy>().unwrap().check(&machine);
        assert!(check("bind:0").is_ok() && check("local").is_ok());
        assert!(check("interleave:0,2").unwrap_err().cause.contains("node 2"));
        assert!(check("bind:1").is_err());
    }
}
