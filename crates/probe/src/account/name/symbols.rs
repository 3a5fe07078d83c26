//! Functions of the kernel by their address, from /proc/kallsyms.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader};

use machine::Missing;

const FILE: &str = "/proc/kallsyms";

/// The table as it was read last. It is kept, some MB, for to read it takes 50 ms and more, and new functions come one by one.
#[derive(Debug, Clone, Default)]
pub(in crate::account) struct Symbols {
    /// Address, and where its name begins in `names`; sorted by address.
    starts: Vec<(u64, u32)>,
    /// Names, each ended by a line feed.
    names: String,
}

impl Symbols {
    /// The names of the functions at these addresses. Those that have none are left out. The table is read where it does not know
    /// all of them: at first, and when a module may have come.
    ///
    /// # Errors
    /// When the table cannot be read, or hides its addresses (sysctl kernel.kptr_restrict).
    pub(in crate::account) fn of(
        &mut self,
        wanted: &BTreeSet<u64>,
    ) -> Result<BTreeMap<u64, String>, Missing> {
        if wanted.iter().any(|address| self.name(*address).is_none()) {
            let read = std::fs::File::open(FILE).and_then(|file| Self::read(BufReader::new(file)));
            let missing = |why: &dyn std::fmt::Display| {
                Missing::new("names of functions", format_args!("{FILE}: {why}"))
            };
            *self = read.map_err(|e| missing(&e))?.ok_or_else(|| {
                missing(
                    &"it hides addresses from this user: run as root, and set sysctl kernel.kptr_restrict to 1 or 0",
                )
            })?;
        }
        let named = wanted.iter().filter_map(|address| Some((*address, self.name(*address)?.to_string())));
        Ok(named.collect())
    }

    fn name(&self, address: u64) -> Option<&str> {
        let at = self.starts.binary_search_by_key(&address, |(address, _)| *address).ok()?;
        self.names.get(self.starts.get(at)?.1 as usize..)?.split('\n').next()
    }

    /// A line is an address in hex, a kind, a name, and perhaps a module in brackets. `None` when every address reads as 0.
    fn read(mut table: impl BufRead) -> io::Result<Option<Self>> {
        let (mut read, mut hidden, mut line) = (Self::default(), true, String::new());
        while table.read_line(&mut line)? > 0 {
            let mut words = line.split_ascii_whitespace();
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            if let (Some(address), Some(kind), Some(name)) = (address, words.next(), words.next()) {
                hidden &= address == 0;
                if matches!(kind, "t" | "T" | "w" | "W") {
                    read.starts.push((address, read.names.len() as u32));
                    read.names.extend([name, "\n"]);
                }
            }
            line.clear();
        }
        // Of several names of one address the first counts: the sort keeps their order.
        read.starts.sort_by_key(|(address, _)| *address);
        read.starts.dedup_by_key(|(address, _)| *address);
        Ok((!hidden).then_some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "ffffffff81000000 T _text\nffffffff81100a00 t tick_nohz_handler\nffffffff81100a00 t alias\n\
        ffffffff82000000 D data\nffffffffc0001000 t poll\t[virtio_net]\nbroken\n";

    #[test]
    fn functions_are_found_by_their_address() {
        let read = Symbols::read(TABLE.as_bytes()).unwrap().unwrap();
        assert_eq!(read.name(0xffff_ffff_8110_0a00), Some("tick_nohz_handler"));
        assert_eq!(read.name(0xffff_ffff_c000_1000), Some("poll"));
        assert_eq!((read.name(0xffff_ffff_8200_0000), read.name(7)), (None, None));
    }

    #[test]
    fn a_table_of_zeros_hides_its_addresses() {
        let hidden = "0000000000000000 T _text\n0000000000000000 t poll\n";
        assert!(Symbols::read(hidden.as_bytes()).unwrap().is_none());
    }
}
