//! Softirqs by kind and CPU, from /proc/softirqs.

use machine::procfs::softirqs;
use machine::{Missing, Root};

use super::{About, Probe, unreadable};
use crate::online::{ONLINE, online_now};
use crate::rows::{Kind, Row, Rows};

const FILE: &str = "/proc/softirqs";

/// The probe `softirqs`.
pub(super) struct Softirqs;

impl Probe for Softirqs {
    fn about(&self) -> &About {
        &About {
            id: "softirqs",
            title: "softirq runs on each CPU, by kind: network receive, block, timer, scheduler, RCU",
            docs: "Counts how often a handler was entered, not for how long: one NET_RX run may take one packet or three hundred, so the \
                count on the CPU that does the receive work can be lower than on one that does little. Read it beside the time \
                rows softirq and CAL. The kernel prints every possible CPU; offline ones are left out here.",
            files: &[FILE, ONLINE],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        unreadable(root, &[FILE, ONLINE])
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let text = into.read(root, FILE)?;
        let table = softirqs::parse(&text).map_err(|e| Missing::new(FILE, e))?;
        let online = online_now(root, into)?;
        let kept: Vec<usize> = (0..table.cpus.len()).filter(|at| online.contains(table.cpus[*at])).collect();
        let cpus: Vec<u32> = kept.iter().map(|at| table.cpus[*at]).collect();
        let columns = into.columns(&cpus);
        let mut values = vec![0; kept.len()];
        for (name, counts) in table.rows() {
            for (value, at) in values.iter_mut().zip(&kept) {
                *value = counts[*at];
            }
            into.counter(Row { name, label: "", unit: "events", kind: Kind::Wraps32 }, &columns, &values);
        }
        Ok(())
    }
}
