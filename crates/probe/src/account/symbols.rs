//! Functions of the kernel by their address, from /proc/kallsyms.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader};

use machine::Missing;

const FILE: &str = "/proc/kallsyms";

/// The names of the functions at these addresses. Those that have none are left out.
///
/// # Errors
/// When the table cannot be read, or hides its addresses (sysctl kernel.kptr_restrict).
pub(super) fn of_the_kernel(wanted: &BTreeSet<u64>) -> Result<BTreeMap<u64, String>, Missing> {
    if wanted.is_empty() {
        return Ok(BTreeMap::new());
    }
    let table = std::fs::File::open(FILE).and_then(|file| find(BufReader::new(file), wanted));
    match table {
        Err(e) => Err(Missing::new("names of functions", format_args!("{FILE}: {e}"))),
        Ok(Found { hidden: true, .. }) => {
            let why = "it hides addresses from this user: run as root, and set sysctl kernel.kptr_restrict to 1 or 0";
            Err(Missing::new("names of functions", format_args!("{FILE}: {why}")))
        }
        Ok(found) => Ok(found.names),
    }
}

struct Found {
    names: BTreeMap<u64, String>,
    /// Whether every address reads as 0.
    hidden: bool,
}

/// Looks the addresses up in the table: a line is an address in hex, a kind, a name, and perhaps a module in brackets.
fn find(table: impl BufRead, wanted: &BTreeSet<u64>) -> io::Result<Found> {
    let mut found = Found { names: BTreeMap::new(), hidden: true };
    for line in table.lines() {
        let line = line?;
        let mut words = line.split_ascii_whitespace();
        let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        let (Some(address), Some(kind), Some(name)) = (address, words.next(), words.next()) else { continue };
        found.hidden &= address == 0;
        if matches!(kind, "t" | "T" | "w" | "W") && wanted.contains(&address) {
            found.names.entry(address).or_insert_with(|| name.to_string());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "ffffffff81000000 T _text\nffffffff81100a00 t tick_nohz_handler\nffffffff81100a00 t alias\n\
        ffffffff82000000 D data\nffffffffc0001000 t poll\t[virtio_net]\nbroken\n";

    #[test]
    fn functions_are_found_by_their_address() {
        let wanted = BTreeSet::from([0xffff_ffff_8110_0a00, 0xffff_ffff_c000_1000, 0xffff_ffff_8200_0000, 7]);
        let found = find(TABLE.as_bytes(), &wanted).unwrap();
        let names: Vec<&str> = found.names.values().map(String::as_str).collect();
        assert_eq!((names, found.hidden), (vec!["tick_nohz_handler", "poll"], false));
    }

    #[test]
    fn a_table_of_zeros_hides_its_addresses() {
        let hidden = "0000000000000000 T _text\n0000000000000000 t poll\n";
        assert!(find(hidden.as_bytes(), &BTreeSet::from([1])).unwrap().hidden);
    }
}
