//! What disks read and wrote: /proc/diskstats (Documentation/admin-guide/iostats.rst, block/genhd.c).

/// Size of a sector in this file, bytes, whatever that of the disk is (include/linux/blk_types.h).
const SECTOR_BYTES: u64 = 512;

/// What a disk did since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk<'a> {
    /// Its name: `nvme0n1`, `sda`, `dm-0`.
    pub name: &'a str,
    /// Requests that it completed, reads and writes.
    pub requests: u64,
    /// Bytes that it read.
    pub read_bytes: u64,
    /// Bytes that it wrote.
    pub written_bytes: u64,
}

/// The disks of /proc/diskstats; partitions, which follow their disk, and lines of another form are left out.
pub fn disks(text: &str) -> impl Iterator<Item = Disk<'_>> {
    let mut above = "";
    text.lines().filter_map(move |line| {
        let mut words = line.split_ascii_whitespace().skip(2);
        let name = words.next()?;
        if is_partition(name, above) {
            return None;
        }
        above = name;
        let mut counts = words.map(|word| word.parse::<u64>().ok());
        let (reads, sectors_read) = (counts.next()??, counts.nth(1)??);
        let (writes, sectors_written) = (counts.nth(1)??, counts.nth(1)??);
        Some(Disk {
            name,
            requests: reads.saturating_add(writes),
            read_bytes: sectors_read.saturating_mul(SECTOR_BYTES),
            written_bytes: sectors_written.saturating_mul(SECTOR_BYTES),
        })
    })
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
        let found: Vec<Disk<'_>> = disks(&text).collect();
        let names: Vec<&str> = found.iter().map(|disk| disk.name).collect();
        assert_eq!(names, ["sda", "sdaa", "nvme0n1", "nvme0n10", "dm-1", "dm-10", "vda"]);
        assert_eq!(
            found[0],
            Disk { name: "sda", requests: 20, read_bytes: 20 * 512, written_bytes: 40 * 512 }
        );
    }

    #[test]
    fn lines_of_another_form_and_numbers_out_of_range() {
        assert_eq!(disks("8 0 sda 1 2 3\n\nx\n8 0 sdb 1 2 x 4 5 6 7\n").count(), 0);
        let most = u64::MAX;
        let text = format!("8 0 sda {most} 0 {most} 0 {most} 0 {most} 0\n");
        assert_eq!(disks(&text).next().map(|disk| disk.written_bytes), Some(u64::MAX));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([a-z0-9p: ]{0,20}\n?){0,6}") {
            let _ = disks(&text).count();
        }
    }
}
