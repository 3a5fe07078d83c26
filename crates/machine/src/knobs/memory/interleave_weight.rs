//! How much of the memory that is interleaved by weight a node gets.

use crate::knobs::file::{Bound, FileKnob, Form, Place, Places, is_numbered, names};
use crate::knobs::{About, Knob, MaySet, Target};
use crate::{Act, Fault, Root};

/// The knob.
#[derive(Debug)]
pub struct InterleaveWeight;

static FILES: FileKnob = FileKnob {
    about: About {
        id: "interleave-weight",
        title: "Share of a node in memory that is interleaved by weight",
        docs: "A process under the policy weighted interleave (numactl --weighted-interleave, set_mempolicy) takes so many pages \
               from this node, then so many from the next. Weights in the ratio of the nodes' bandwidths use all of it, which \
               matters where nodes differ: CXL memory, HBM. 'pinwise noise --memory' measures bandwidths.",
        unit: "pages a round, 1 to 255",
        scope: "one node: nodeN",
        owner: "the kernel since 6.16, which weighs by the firmware's bandwidths (HMAT, CDAT) while the file auto beside it reads \
                true; a weight that is set switches that off, and undo on again; udev rules and scripts of CXL vendors",
        owners: &[],
        risk: "Holds for pages that are taken from now on, of all processes under this policy. Weights far from the bandwidths make \
               memory slower than without. Where the firmware reports no bandwidths, the file auto cannot be switched on again before \
               the next start; it decides nothing there.",
        may_set: MaySet::Root,
        source: "Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave",
    },
    places: Places::Found(nodes),
    form: Form::Number { least: Bound::Is(1), most: Bound::Is(255), words: &[] },
};

const FOLDER: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

/// Names of the switch. Kernels whose headers make a macro of the word `auto` show what it stands for.
const AUTO: [&str; 2] = ["auto", "__auto_type"];

fn nodes(root: &Root, _only: Option<&str>) -> Result<Vec<Place>, Fault> {
    let nodes = names(root, FOLDER)?.into_iter().filter(|name| is_numbered(name, "node"));
    let place = |id: String| Place {
        what: format!("pages interleaved by weight on {id}"),
        path: format!("{FOLDER}/{id}"),
        form: None,
        id,
    };
    Ok(nodes.map(place).collect())
}

impl Knob for InterleaveWeight {
    fn about(&self) -> &About {
        FILES.about()
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        FILES.targets(root)
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        FILES.read(root, target)
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let set = FILES.change(root, target, value)?;
        // The kernel switches it off with the first weight; by an act of its own, undo switches it on again, and last. Without bandwidths
        // it refuses that (ENODEV), and all weights are 1 as they are with it.
        let is_on = |path: &String| root.line(path).is_ok_and(|now| now.trim() == "true");
        let switch = || AUTO.map(|name| format!("{FOLDER}/{name}")).into_iter().find(is_on);
        let off = knows_bandwidths(root).then(switch).flatten();
        let off = off.map(|path| Act::WriteFile { path: path.into(), value: "false".into(), netns: None });
        Ok(off.into_iter().chain(set).collect())
    }
}

/// Whether the firmware has reported the bandwidth of a node from its nearest CPUs (drivers/base/node.c, access class 1).
fn knows_bandwidths(root: &Root) -> bool {
    const NODES: &str = "/sys/devices/system/node";
    let nodes = root.list(NODES).unwrap_or_default();
    nodes.iter().any(|node| root.exists(format!("{NODES}/{node}/access1/initiators/read_bandwidth")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn the_kernels_own_weights_are_switched_off_first() {
        let tree_of = |auto: &str, now: &str| {
            Tree::new().file(&format!("{FOLDER}/node0"), "3\n").file(&format!("{FOLDER}/{auto}"), now)
        };
        let bandwidth = "/sys/devices/system/node/node0/access1/initiators/read_bandwidth";
        let tree = |auto: &str, now: &str| Root::from_tree(tree_of(auto, now).file(bandwidth, "9000\n"));
        let without = Root::from_tree(tree_of("auto", "true\n"));
        let write = |name: &str, value: &str| Act::WriteFile {
            path: format!("{FOLDER}/{name}").into(),
            value: value.into(),
            netns: None,
        };
        for auto in AUTO {
            let acts = InterleaveWeight.change(&tree(auto, "true\n"), "node0", "5").unwrap();
            assert_eq!(acts, [write(auto, "false"), write("node0", "5")]);
        }
        assert_eq!(InterleaveWeight.change(&without, "node0", "5").unwrap(), [write("node0", "5")]);
        let root = tree("auto", "false\n");
        assert_eq!(InterleaveWeight.change(&root, "node0", "5").unwrap(), [write("node0", "5")]);
        assert_eq!(InterleaveWeight.read(&root, "node0").unwrap(), "3");
        assert_eq!(InterleaveWeight.targets(&root).unwrap().len(), 1);
        for (target, value) in [("node0", "0"), ("node0", "256"), ("node1", "1"), ("auto", "1")] {
            assert!(InterleaveWeight.change(&root, target, value).is_err(), "{target} {value}");
        }
    }
}
