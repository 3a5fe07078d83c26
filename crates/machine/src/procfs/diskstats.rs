//! What disks read and wrote: /proc/diskstats (Documentation/admin-guide/iostats.rst, block/genhd.c).

use super::{Malformed, Oddities, decimal_of};

/// Size of a sector in this file, bytes, whatever that of the disk is (include/linux/blk_types.h).
const SECTOR_BYTES: u64 = 512;

/// What a disk did since boot; what is no number is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk<'a> {
    /// Its name: `nvme0n1`, `sda`, `dm-0`.
    pub name: &'a str,
    /// Requests that it completed, reads and writes.
    pub requests: Option<u64>,
    /// Bytes that it read.
    pub read_bytes: Option<u64>,
    /// Bytes that it wrote.
    pub written_bytes: Option<u64>,
}

/// The disks of /proc/diskstats, and what of it could not be read. Partitions, which follow their disk, are left out.
pub fn disks(text: &str) -> (Vec<Disk<'_>>, Oddities) {
    let (mut disks, mut odd, mut above) = (Vec::new(), Oddities::default(), "");
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(name) = words.get(2).copied() else {
            odd.add(Malformed::new(number, line, "has no name of a disk"));
            continue;
        };
        if is_partition(name, above) {
            continue;
        }
        above = name;
        // Fields of Documentation/admin-guide/iostats.rst, which begin with 1 behind the name.
        let mut field = |field: usize| {
            let word = words.get(field + 2).copied();
            odd.keep(decimal_of(number, format_args!("{name} field {field}"), word))
        };
        let (reads, sectors_read, writes, sectors_written) = (field(1), field(3), field(5), field(7));
        let bytes = |sectors: Option<u64>| sectors?.checked_mul(SECTOR_BYTES);
        disks.push(Disk {
            name,
            requests: reads.zip(writes).and_then(|(reads, writes)| reads.checked_add(writes)),
            read_bytes: bytes(sectors_read),
            written_bytes: bytes(sectors_written),
        });
    }
    (disks, odd)
}

/// `sda1` of `sda`, `nvme0n1p1` of `nvme0n1`: the kernel puts a `p` between two digits (block/partitions/core.c).
fn is_partition(name: &str, disk: &str) -> bool {
    let Some(rest) = name.strip_prefix(disk).filter(|_| !disk.is_empty()) else { return false };
    let number = match disk.ends_with(|last: char| last.is_ascii_digit()) {
        true => rest.strip_prefix('p'),
        false => Some(rest),
    };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_without_their_partitions() {
        let line = |name: &str, n: u64| {
            format!("   8       0 {name} {n} 1 {} 4 {n} 6 {} 8 0 9 10 0 0 0 0\n", 2 * n, 4 * n)
        };
        let names = [
            "sda",
            "sda1",
            "sda12",
            "sdaa",
            "sdaa1",
            "nvme0n1",
            "nvme0n1p1",
            "nvme0n10",
            "dm-1",
            "dm-10",
            "vda",
        ];
        let text: String = names.iter().map(|name| line(name, 10)).collect();
        let (found, odd) = disks(&text);
        assert!(odd.is_empty(), "{odd}");
        let names: Vec<&str> = found.iter().map(|disk| disk.name).collect();
        assert_eq!(names, ["sda", "sdaa", "nvme0n1", "nvme0n10", "dm-1", "dm-10", "vda"]);
        assert_eq!(
            found[0],
            Disk {
                name: "sda",
                requests: Some(20),
                read_bytes: Some(20 * 512),
                written_bytes: Some(40 * 512)
            }
        );
    }

    #[test]
    fn an_odd_line_or_number_is_missing_by_itself() {
        let (found, odd) =
            disks("8 0 sda 1 2 3 4 5 6 x 7\n\nx\n8 16 sdb 1 2 3 4 5 6\n8 32 sdc 1 2 3 4 5 6 7 8\n");
        let seen: Vec<_> = found
            .iter()
            .map(|disk| (disk.name, disk.requests, disk.read_bytes, disk.written_bytes))
            .collect();
        let bytes = Some(3 * SECTOR_BYTES);
        assert_eq!(seen[0], ("sda", Some(6), bytes, None));
        assert_eq!(seen[1], ("sdb", Some(6), bytes, None));
        assert_eq!(seen[2], ("sdc", Some(6), bytes, Some(7 * SECTOR_BYTES)));
        assert_eq!(odd.first().iter().map(|odd| odd.line).collect::<Vec<_>>(), [1, 3, 4]);
    }

    #[test]
    fn numbers_out_of_range_are_not_known() {
        let most = u64::MAX;
        let text = format!("8 0 sda {most} 0 {most} 0 {most} 0 5 0\n");
        let (found, _) = disks(&text);
        assert_eq!((found[0].requests, found[0].read_bytes), (None, None));
        assert_eq!(found[0].written_bytes, Some(5 * SECTOR_BYTES));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([a-z0-9p: ]{0,20}\n?){0,6}") {
            let _ = disks(&text);
        }
    }
}
