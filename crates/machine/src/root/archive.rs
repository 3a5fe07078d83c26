//! Archives that hold the /sys and /proc of another machine, loaded into memory.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use tar::{Archive, Entry, EntryType};

use super::bounded_stream::{BoundedStream, Bounds, Passed};
use super::tree::{self, Tree};
use super::{damaged, descriptor};
use crate::{Class, Fault, untrusted};

/// Longest file, and longest plain stream of an archive, bytes. What may be kept of it is bounded by [`Tree`]; this bounds
/// what is passed over as well. A million entries, which no machine has, take as much for their heads and what fills them up.
const LONGEST_BYTES: u64 = 1 << 30;

/// Most entries, those that are not kept too: 60 times those of a machine with 256 CPUs.
const MOST_ENTRIES: usize = 1_000_000;

/// What may stand between two files: the head, a long name and the target of a link (4096 bytes each), attributes of pax(1),
/// the list of the holes in a sparse file. The captures that the tests read have 512 bytes there, GNU tar makes some 10 KiB.
const LONGEST_HEAD_BYTES: u64 = 1 << 20;

/// How far back a stream of zstd may refer: what a decoder has to hold, 128 MiB. `zstd -19` refers 8 MiB back, `zstd
/// --ultra -22` so far; a stream may ask for 2 GiB and more.
const WINDOW_BITS: u32 = 27;

/// What helps against an archive that is beyond a bound.
const REMEDY: &str =
    "pack nothing but /sys and /proc of one machine, or take a capture of it with 'pinwise capture'";

/// Loads an archive by the ending of its name: .tar, .tar.gz, .tgz, .tar.bz2, .tbz2, .tar.zst, .tzst.
pub(super) fn load(path: &Path) -> Result<Tree, Fault> {
    let origin = path.display().to_string();
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".tar.zst", ".tzst"]) {
        let mut plain = zstd::Decoder::with_buffer(packed(path)?).map_err(|e| damaged(&origin, e))?;
        plain.window_log_max(WINDOW_BITS).map_err(|e| damaged(&origin, e))?;
        unpack(plain, &origin)
    } else if ends(&[".tar.gz", ".tgz"]) {
        unpack(flate2::bufread::MultiGzDecoder::new(packed(path)?), &origin)
    } else if ends(&[".tar.bz2", ".tbz2"]) {
        unpack(bzip2::bufread::MultiBzDecoder::new(packed(path)?), &origin)
    } else if ends(&[".tar"]) {
        unpack(packed(path)?, &origin)
    } else {
        Err(Fault::new(
            Class::Usage,
            origin,
            "it is neither a directory nor an archive that pinwise knows by its name",
            "give a directory, .tar, .tar.gz, .tar.bz2 or .tar.zst",
        ))
    }
}

/// The file itself. It is as long as a plain archive may be, at most: packed streams can hold much that unpacks to nothing.
fn packed(path: &Path) -> Result<BufReader<io::Take<File>>, Fault> {
    let fault = |e: io::Error| Fault::io(path.display(), &e, "give a file that can be read");
    let file = untrusted::file::open_named(path).map_err(fault)?;
    if file.metadata().map_err(fault)?.len() > LONGEST_BYTES {
        return Err(beyond(&path.display().to_string(), &longer()));
    }
    Ok(BufReader::new(file.take(LONGEST_BYTES)))
}

/// Reads files, directories and links of a tar stream; devices and pipes are left out, nothing is written to disk.
fn unpack(stream: impl Read, origin: &str) -> Result<Tree, Fault> {
    let bounds = Bounds::new(LONGEST_BYTES);
    let mut archive = Archive::new(BoundedStream::new(stream, &bounds));
    let fault = |e: io::Error| refused(origin, &bounds, &e);
    let mut tree = Tree::new();
    let mut entries = archive.entries().map_err(fault)?;
    let mut count = 0;
    loop {
        bounds.begin_head(LONGEST_HEAD_BYTES);
        let entry = entries.next();
        bounds.end_head();
        let Some(entry) = entry else { break };
        let mut entry = entry.map_err(fault)?;
        count += 1;
        if count > MOST_ENTRIES {
            return Err(beyond(origin, &format!("it holds more than {MOST_ENTRIES} files and folders")));
        }
        match add(&mut tree, &mut entry) {
            Ok(()) => {}
            Err(Refused::Beyond(why)) => return Err(beyond(origin, &why)),
            Err(Refused::Damaged(e)) => return Err(fault(e)),
        }
        // What is passed over is no part of the next head.
        io::copy(&mut entry, &mut io::sink()).map_err(fault)?;
    }
    if count == 0 {
        return Err(damaged(origin, "it holds no files"));
    }
    // Cut between two files it would be a machine with fewer of them.
    if bounds.has_ended() {
        return Err(damaged(origin, "it was cut off: the mark at the end of an archive is missing"));
    }
    Ok(tree)
}

/// Why an entry is not taken.
enum Refused {
    /// It is beyond a bound, which is reported in words.
    Beyond(String),
    /// It cannot be read.
    Damaged(io::Error),
}

/// Adds an entry to the tree.
fn add(tree: &mut Tree, entry: &mut Entry<'_, impl Read>) -> Result<(), Refused> {
    let Ok(path) = String::from_utf8(entry.path_bytes().into_owned()) else { return Ok(()) };
    let target = entry.link_name_bytes().and_then(|name| String::from_utf8(name.into_owned()).ok());
    let added = match (entry.header().entry_type(), target) {
        (EntryType::Directory, _) => tree.add_dir(&path),
        (EntryType::Symlink, Some(target)) => tree.add_link(&path, &target),
        (EntryType::Link, Some(target)) => tree.add_copy(&path, &target),
        (EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse, _) => {
            let content = content(tree, entry, &path)?;
            tree.add_file(&path, content)
        }
        _ => Ok(()),
    };
    added.map_err(Refused::Beyond)
}

/// The content of a file. A sparse one can claim any length without the bytes behind it, so the claim is looked at first.
fn content(tree: &Tree, entry: &mut Entry<'_, impl Read>, path: &str) -> Result<Vec<u8>, Refused> {
    if entry.size() > descriptor::MOST_BYTES as u64 {
        return Err(Refused::Beyond(format!(
            "{path} in it is longer than {} MiB",
            descriptor::MOST_BYTES >> 20
        )));
    }
    if entry.size() > tree.room_bytes() {
        return Err(Refused::Beyond(tree::too_large()));
    }
    let mut content = Vec::new();
    let damaged = |e: io::Error| Refused::Damaged(io::Error::new(e.kind(), format!("{path}: {e}")));
    entry.read_to_end(&mut content).map_err(damaged)?;
    // A file that ends too early is cut off: the library takes that for its end.
    match content.len() as u64 == entry.size() {
        true => Ok(content),
        false => Err(damaged(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// What an error of the stream means.
fn refused(origin: &str, bounds: &Bounds, error: &io::Error) -> Fault {
    match bounds.passed() {
        Some(Passed::Stream) => beyond(origin, &longer()),
        Some(Passed::Head) => beyond(
            origin,
            &format!("the head of a file in it is longer than {} KiB", LONGEST_HEAD_BYTES >> 10),
        ),
        // The library has no other name for it (ZSTD_error_frameParameter_windowTooLarge).
        None if error.to_string().contains("too much memory") => {
            let cause = format!("its stream refers further back than {} MiB", (1 << WINDOW_BITS) >> 20);
            Fault::new(
                Class::Storage,
                origin,
                cause,
                "pack it again, with 'zstd -19' or a lower level and without --long",
            )
        }
        None => damaged(origin, error),
    }
}

fn longer() -> String {
    format!("it is longer than {} MiB", LONGEST_BYTES >> 20)
}

/// An archive that is more than any machine, or that was made to fill the memory.
fn beyond(origin: &str, why: &str) -> Fault {
    Fault::new(Class::Storage, origin, why, REMEDY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn tarball() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(4);
        header.set_mode(0o600);
        builder.append_data(&mut header.clone(), "top/sys/a", &b"0-1\n"[..]).unwrap();
        header.set_size(0);
        header.set_entry_type(EntryType::Symlink);
        builder.append_link(&mut header, "top/sys/b", "/sys/a").unwrap();
        builder.into_inner().unwrap()
    }

    #[test]
    fn every_packing_reads_the_same_and_the_single_folder_is_entered() {
        let dir = tempfile::tempdir().unwrap();
        let plain = tarball();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&plain).unwrap();
        let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bz2.write_all(&plain).unwrap();
        let packings = [
            ("m.tar.zst", zstd::encode_all(&plain[..], 1).unwrap()),
            ("m.tar.gz", gz.finish().unwrap()),
            ("m.tar.bz2", bz2.finish().unwrap()),
            ("m.tar", plain),
        ];
        for (name, bytes) in packings {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let root = crate::Root::at(&path).unwrap();
            assert_eq!(root.read("/sys/b").unwrap(), "0-1\n", "{name}");
        }
    }

    #[test]
    fn damaged_and_unknown_files_are_distinguished() {
        let dir = tempfile::tempdir().unwrap();
        for (name, content, class) in [
            ("a.tar.zst", &b"not zstd"[..], Class::Storage),
            ("a.tar.bz2", b"not bzip2", Class::Storage),
            ("a.tar.gz", b"not gzip", Class::Storage),
            ("a.tar", b"", Class::Storage),
            ("a.zip", b"PK", Class::Usage),
        ] {
            let path = dir.path().join(name);
            std::fs::write(&path, content).unwrap();
            let fault = crate::Root::at(&path).unwrap_err();
            assert_eq!(fault.class, class, "{fault}");
            assert!(fault.to_string().contains(name), "{fault}");
        }
        let torn = dir.path().join("torn.tar.zst");
        let whole = zstd::encode_all(&tarball()[..], 1).unwrap();
        std::fs::write(&torn, &whole[..whole.len() / 2]).unwrap();
        assert_eq!(crate::Root::at(&torn).unwrap_err().class, Class::Storage);
    }

    /// The fault of an archive of this stream.
    fn fault_of(name: &str, bytes: &[u8]) -> Fault {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let fault = crate::Root::at(&path).unwrap_err();
        assert!(
            fault.class == Class::Storage && fault.object.ends_with(name) && !fault.remedy.is_empty(),
            "{fault}"
        );
        fault
    }

    fn header(kind: EntryType, name: &str, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o600);
        header.set_path(name).unwrap();
        header.set_cksum();
        header
    }

    /// Packs what `build` writes.
    fn zst(build: impl FnOnce(&mut tar::Builder<zstd::Encoder<'static, Vec<u8>>>)) -> Vec<u8> {
        let mut builder = tar::Builder::new(zstd::Encoder::new(Vec::new(), 3).unwrap());
        build(&mut builder);
        builder.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn hard_links_to_one_large_file_are_counted_like_files() {
        let bomb = zst(|archive| {
            let large = io::repeat(0).take(64 << 20);
            archive.append(&header(EntryType::Regular, "sys/large", 64 << 20), large).unwrap();
            for n in 0..100 {
                let mut link = header(EntryType::Link, &format!("sys/cpu{n}"), 0);
                archive.append_link(&mut link, format!("sys/cpu{n}"), "sys/large").unwrap();
            }
        });
        assert!(bomb.len() < 20_000, "{}", bomb.len());
        let fault = fault_of("bomb.tar.zst", &bomb);
        assert!(fault.cause.contains("unfolds to more than 512 MiB"), "{fault}");
    }

    #[test]
    fn a_long_file_is_refused_before_it_is_read() {
        let claim = |size: u64| header(EntryType::Regular, "sys/long", size).as_bytes().to_vec();
        assert!(fault_of("a.tar", &claim(300 << 20)).cause.contains("sys/long in it is longer than 256 MiB"));
        let zeros = zst(|archive| {
            for n in 0..40 {
                let content = io::repeat(0).take(16 << 20);
                archive.append(&header(EntryType::Regular, &format!("sys/{n}"), 16 << 20), content).unwrap();
            }
        });
        assert!(fault_of("a.tar.zst", &zeros).cause.contains("unfolds to more than 512 MiB"));
    }

    #[test]
    fn a_sparse_entry_is_as_long_as_it_says() {
        let mut sparse = header(EntryType::GNUSparse, "sys/sparse", 0);
        let gnu = sparse.as_gnu_mut().unwrap();
        // One hole of 64 GiB, and nothing at its end.
        gnu.set_real_size(64 << 30);
        gnu.sparse[0].set_offset(64 << 30);
        gnu.sparse[0].set_length(0);
        sparse.set_cksum();
        assert!(fault_of("a.tar", sparse.as_bytes()).cause.contains("longer than 256 MiB"));
    }

    #[test]
    fn long_names_are_not_kept() {
        for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
            let bomb = zst(|archive| {
                let name = io::repeat(b'x').take(512 << 20);
                archive.append(&header(kind, "name", 512 << 20), name).unwrap();
                archive.append(&header(EntryType::Regular, "sys/a", 0), io::empty()).unwrap();
            });
            let fault = fault_of("a.tar.zst", &bomb);
            assert!(
                fault.cause.contains("head of a file in it is longer than 1024 KiB"),
                "{kind:?}: {fault}"
            );
        }
        let mut long = tar::Builder::new(Vec::new());
        long.append_data(&mut header(EntryType::Regular, "a", 0), "x".repeat(5_000), io::empty()).unwrap();
        assert!(fault_of("a.tar", &long.into_inner().unwrap()).cause.contains("longer than 4096 bytes"));
    }

    #[test]
    fn very_many_entries_are_refused() {
        let one = header(EntryType::Regular, "sys/a", 0);
        let same = zst(|archive| (0..=MOST_ENTRIES).for_each(|_| archive.append(&one, io::empty()).unwrap()));
        let cause = fault_of("a.tar.zst", &same).cause;
        assert!(
            cause.contains("unfolds to more than 512 MiB") || cause.contains("more than 1000000 files"),
            "{cause}"
        );
        // Each is an entry in a folder of its own, 100 folders deep.
        let nested = zst(|archive| {
            for n in 0..200_000 {
                let name = format!("{n}/{}", "a/".repeat(45));
                archive.append(&header(EntryType::Directory, &name, 0), io::empty()).unwrap();
            }
        });
        let cause = fault_of("a.tar.zst", &nested).cause;
        assert!(
            cause.contains("unfolds to more than 512 MiB") || cause.contains("more than 1000000 files"),
            "{cause}"
        );
    }

    #[test]
    fn what_is_passed_over_is_bounded_too() {
        let skipped = zst(|archive| {
            let content = io::repeat(0).take(2 << 30);
            archive.append(&header(EntryType::Fifo, "dev/pipe", 2 << 30), content).unwrap();
        });
        assert!(fault_of("a.tar.zst", &skipped).cause.contains("longer than 1024 MiB"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long.tar.zst");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let fault = crate::Root::at(&path).unwrap_err();
        assert!(fault.cause.contains("longer than 1024 MiB"), "{fault}");
    }

    #[test]
    fn a_frame_that_refers_far_back_is_refused() {
        // Magic number; no content size, no single segment; a window of 2^31 bytes; a last block of one byte that is repeated.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, (31 - 10) << 3, 0x03 | 0x08, 0x00, 0x00, 0x00];
        let fault = fault_of("a.tar.zst", &frame);
        assert!(
            fault.cause.contains("further back than 128 MiB") && fault.remedy.contains("--long"),
            "{fault}"
        );
    }

    #[test]
    fn an_archive_that_was_cut_anywhere_is_damaged() {
        let whole = tarball();
        // Two files of a head and a block, a link of a head, the mark at the end.
        for cut in [1, 511, 512, 700, 1024, 1300, 1536] {
            fault_of("a.tar", &whole[..cut]);
            fault_of("a.tar.zst", &zstd::encode_all(&whole[..cut], 1).unwrap());
        }
        let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bz2.write_all(&whole).unwrap();
        let bz2 = bz2.finish().unwrap();
        fault_of("a.tar.bz2", &bz2[..bz2.len() - 12]);
    }

    #[test]
    fn what_lies_behind_the_end_is_not_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.tar");
        let behind = header(EntryType::Regular, "top/sys/behind", 0);
        std::fs::write(&path, [tarball().as_slice(), behind.as_bytes()].concat()).unwrap();
        let root = crate::Root::at(&path).unwrap();
        assert!(root.exists("/sys/a") && !root.exists("/sys/behind"));
    }

    #[test]
    fn only_a_regular_file_is_an_archive() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe.tar");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let fault = crate::Root::at(&path).unwrap_err();
        assert!(fault.cause.contains("not a regular file") && fault.object.ends_with("pipe.tar"), "{fault}");
    }
}
