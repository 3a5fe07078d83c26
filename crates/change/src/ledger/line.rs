//! A line of a ledger: a JSON object whose last key is a checksum of what is before it (CRC-32, as of zip and gzip), so that a bit that
//! flips on the disk is noticed instead of obeyed. Lines of format 1 have none.

use std::io;

use crate::record::Record;

const BEFORE: &[u8] = b",\"check\":\"";
const AFTER: &[u8] = b"\"}";
const DIGITS: usize = 8;

/// A record as a line, with the newline that makes it count.
pub fn sealed(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    let check = crc32fast::hash(&line);
    // Every record is an object with at least one key.
    line.pop();
    line.extend_from_slice(BEFORE);
    line.extend_from_slice(format!("{check:08x}").as_bytes());
    line.extend_from_slice(AFTER);
    line.push(b'\n');
    Ok(line)
}

/// The record of a line, without its newline. `unsealed`: whether lines without a checksum are taken.
///
/// # Errors
/// Why it makes no sense.
pub fn read(line: &[u8], unsealed: bool) -> Result<Record, String> {
    let parse = |json: &[u8]| serde_json::from_slice(json).map_err(|e| e.to_string());
    match opened(line) {
        None if unsealed => parse(line),
        None => Err("it has no checksum".into()),
        Some((json, check)) if crc32fast::hash(&json) == check => parse(&json),
        Some(_) => Err("its checksum is of another text: it was damaged".into()),
    }
}

/// What a line was made of, and its checksum.
fn opened(line: &[u8]) -> Option<(Vec<u8>, u32)> {
    let rest = line.strip_suffix(AFTER)?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    let json = rest.strip_suffix(BEFORE)?;
    let check = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some(([json, b"}"].concat(), check))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written_and_no_flipped_bit_passes() {
        let record = Record::Failed { seq: 7, why: "quoted \" and \n".into() };
        let line = sealed(&record).unwrap();
        let (newline, line) = line.split_last().unwrap();
        assert_eq!((*newline, read(line, false)), (b'\n', Ok(record)));
        for bit in 0..line.len() * 8 {
            let mut damaged = line.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let again = read(&damaged, false);
            // Hexadecimal digits have two cases.
            assert!(again.is_err() || again == read(line, false), "bit {bit}: {again:?}");
        }
    }

    #[test]
    fn a_line_without_checksum_is_taken_only_where_there_were_none() {
        let line = serde_json::to_vec(&Record::Confirmed).unwrap();
        assert_eq!(read(&line, true), Ok(Record::Confirmed));
        assert!(read(&line, false).is_err());
    }
}
