//! Huge pages that a node sets aside.

use crate::knobs::file::{Bound, FileKnob, Form, Place, Places, is_numbered, may_hold, names};
use crate::knobs::{About, MaySet, OwnerId};
use crate::{Fault, Root};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "huge-pages",
        title: "Huge pages that a node sets aside",
        docs: "Memory that is kept for programs that map huge pages (MAP_HUGETLB, hugetlbfs: databases, \
               DPDK, QEMU), on the node where the server runs: it never swaps, and misses of the TLB \
               become rare.",
        unit: "pages",
        scope: "one size on one node: nodeN/2MiB, nodeN/1GiB and what else the CPU has",
        owner: "the boot parameters hugepages= and hugepagesz=, systemd-sysctl (vm.nr_hugepages spreads \
                them over all nodes), tuned ([sysctl], [bootloader]), kubelet (which counts them once, at \
                its start), libvirt",
        owners: &[OwnerId::Tuned],
        risk: "The memory is lost to everything else. Where it is fragmented fewer are found than were \
               asked for, and the search can take seconds. Pages in use cannot be given back.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/mm/hugetlbpage.rst",
    },
    places: Places::Found(pools),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(u32::MAX as i64), words: &[] },
};

const NODES: &str = "/sys/devices/system/node";

fn pools(root: &Root, only: Option<&str>) -> Result<Vec<Place>, Fault> {
    let mut places = Vec::new();
    for node in
        names(root, NODES)?.into_iter().filter(|name| is_numbered(name, "node") && may_hold(name, only))
    {
        let folder = format!("{NODES}/{node}/hugepages");
        for pool in names(root, &folder)? {
            let size = pool.strip_prefix("hugepages-").and_then(|size| size.strip_suffix("kB")?.parse().ok());
            let Some(size) = size.map(size_words) else { continue };
            places.push(Place {
                id: format!("{node}/{size}"),
                what: format!("huge pages of {size} on {node}"),
                path: format!("{folder}/{pool}/nr_hugepages"),
                form: None,
            });
        }
    }
    Ok(places)
}

/// 2048 is 2MiB.
fn size_words(size_kib: u64) -> String {
    match size_kib {
        gib if gib % (1 << 20) == 0 => format!("{}GiB", gib >> 20),
        mib if mib % (1 << 10) == 0 => format!("{}MiB", mib >> 10),
        kib => format!("{kib}KiB"),
    }
}
