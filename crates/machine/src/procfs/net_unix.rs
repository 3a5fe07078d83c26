//! /proc/PID/net/unix: the Unix sockets of a network namespace (net/unix/af_unix.c, `unix_seq_show`).

use super::{Malformed, Oddities};

/// `__SO_ACCEPTON` of include/uapi/linux/net.h: it listens.
const LISTENS: u32 = 1 << 16;
/// SOCK_STREAM.
const STREAM: u32 = 1;

/// One stream socket that listens and has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixListener<'a> {
    /// Its name as it was bound: a path, or `@` and the rest of an abstract name, with `@` for each NUL.
    pub name: &'a str,
    /// Number of its inode: `/proc/PID/fd/N` of whoever has it open reads `socket:[INODE]`.
    pub inode: u64,
}

/// The stream sockets of the file that listen, and the lines that could not be read.
pub fn listeners(text: &str) -> (Vec<UnixListener<'_>>, Oddities) {
    let mut odd = Oddities::default();
    // The first line names the columns.
    let lines = text.lines().zip(1..).skip(1).filter(|(line, _)| !line.trim().is_empty());
    let read = lines.filter_map(|(line, number)| {
        odd.keep(socket(line).ok_or_else(|| Malformed::new(number, line.trim(), "is not a Unix socket")))
    });
    let listeners = read.flatten().collect();
    (listeners, odd)
}

/// `Some(None)` is a socket of another kind.
fn socket(line: &str) -> Option<Option<UnixListener<'_>>> {
    let (mut rest, mut fields) = (line, [""; 7]);
    for field in &mut fields {
        let from = rest.trim_start_matches(' ');
        let end = from.find(' ').unwrap_or(from.len());
        (*field, rest) = from.split_at(end);
    }
    let [_, _, _, flags, kind, _, inode] = fields;
    let flags = u32::from_str_radix(flags, 16).ok()?;
    let kind = u32::from_str_radix(kind, 16).ok()?;
    let inode = inode.parse().ok()?;
    // A name may have blanks itself.
    let name = rest.strip_prefix(' ').unwrap_or_default();
    let is_meant = flags & LISTENS != 0 && kind == STREAM && !name.is_empty();
    Some(is_meant.then_some(UnixListener { name, inode }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 24680 /run/my app.sock
0000000000000000: 00000003 00000000 00000000 0001 03 24681 /run/my app.sock
0000000000000000: 00000002 00000000 00010000 0005 01 24682 /run/seqpacket
0000000000000000: 00000002 00000000 00010000 0001 01    77 @abstract
0000000000000000: 00000003 00000000 00000000 0001 03 24683
";

    #[test]
    fn streams_that_listen_have_their_names() {
        let (found, odd) = listeners(TABLE);
        let expected = [("/run/my app.sock", 24680), ("@abstract", 77)];
        assert!(odd.is_empty());
        assert_eq!(found, expected.map(|(name, inode)| UnixListener { name, inode }));
    }

    #[test]
    fn an_odd_line_is_missing_by_itself() {
        let table = TABLE.replacen("24680", "x", 1);
        let (found, odd) = listeners(&table);
        assert_eq!((found.len(), odd.first()[0].line), (1, 2));
        assert_eq!(listeners(""), (Vec::new(), Oddities::default()));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(Num\n)?([0-9a-f:@/é]{0,12}[ \n]?){0,40}") {
            let _ = listeners(&text);
        }
    }
}
