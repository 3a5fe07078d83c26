//! What disks read and wrote.

use machine::procfs::diskstats;
use machine::{Missing, Root};

use super::{About, Probe, unreadable};
use crate::rows::{Kind, Row, Rows};

const DISKSTATS: &str = "/proc/diskstats";

/// The probe `disks`.
pub(super) struct Disks;

impl Probe for Disks {
    fn about(&self) -> &About {
        &About {
            id: "disks",
            title: "bytes that disks read and wrote, and their requests",
            docs: "System rows of the whole machine: 'requests DISK' (reads and writes that were completed), 'read DISK' and 'written DISK' \
                (bytes). Disks that were never used since boot are left out, and so are partitions. What a disk on top of others does \
                (dm-0, md0) counts there and again below. The kernel does not say who read or wrote.",
            files: &[DISKSTATS],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        unreadable(root, &[DISKSTATS])
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let text = into.read(root, DISKSTATS)?;
        let (disks, odd) = diskstats::disks(&text);
        into.odd(DISKSTATS, &odd);
        for disk in disks.iter().filter(|disk| disk.requests != Some(0)) {
            let counts = [
                ("requests", "events", disk.requests),
                ("read", "bytes", disk.read_bytes),
                ("written", "bytes", disk.written_bytes),
            ];
            for (what, unit, value) in counts {
                let Some(value) = value else { continue };
                let name = format!("{what} {}", disk.name);
                into.system(Row { name: &name, label: "", unit, kind: Kind::Grows }, value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    fn machine(n: u64) -> Root {
        let line = |name: &str, n: u64| format!("259 0 {name} {n} 0 {} 0 {n} 0 {} 0 0 0 0\n", 8 * n, 16 * n);
        let text = [line("nvme0n1", n), line("nvme0n1p1", n), line("sr0", 0)].concat();
        Root::from_tree(Tree::new().file(DISKSTATS, text))
    }

    #[test]
    fn bytes_and_requests_of_a_window() {
        let mut rows = Rows::new(&machine(1), None);
        for n in 1..=3u64 {
            rows.begin_frame(n * 1_000_000, n * 1_000_000, 0, true);
            rows.begin_probe("disks");
            Disks.read(&machine(n), &mut rows).unwrap();
            rows.end_frame(0, 0);
        }
        let seen = rows.into_recording().window(1_000_000, 3_000_000);
        let system = |name: &str| seen.system("disks", name).map(|row| row.value);
        assert_eq!(
            (system("requests nvme0n1"), system("read nvme0n1"), system("written nvme0n1")),
            (Some(4), Some(8_192), Some(16_384))
        );
        assert_eq!((system("read nvme0n1p1"), system("read sr0")), (None, None));
    }
}
