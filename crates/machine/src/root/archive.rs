//! Archives that hold the /sys and /proc of another machine, loaded into memory.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use tar::{Archive, EntryType};

use super::damaged;
use crate::tree::Tree;
use crate::{Class, Fault};

/// Files of a machine are small. More than this is no machine, or an archive made to fill our memory.
const MOST_BYTES: u64 = 1 << 30;
/// Far above any machine (4096 CPUs with 100 files each).
const MOST_ENTRIES: usize = 2_000_000;

/// Loads an archive by the ending of its name: .tar, .tar.gz, .tgz, .tar.bz2, .tbz2, .tar.zst, .tzst.
pub(super) fn load(path: &Path) -> Result<Tree, Fault> {
    let origin = path.display().to_string();
    let file =
        BufReader::new(File::open(path).map_err(|e| Fault::io(&origin, &e, "check the path and its mode"))?);
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".tar.zst", ".tzst"]) {
        let plain = zstd::Decoder::with_buffer(file).map_err(|e| damaged(&origin, e))?;
        unpack(plain, &origin)
    } else if ends(&[".tar.gz", ".tgz"]) {
        unpack(flate2::bufread::MultiGzDecoder::new(file), &origin)
    } else if ends(&[".tar.bz2", ".tbz2"]) {
        unpack(bzip2::bufread::MultiBzDecoder::new(file), &origin)
    } else if ends(&[".tar"]) {
        unpack(file, &origin)
    } else {
        Err(Fault::new(
            Class::Usage,
            origin,
            "it is neither a directory nor an archive that pinwise knows by its name",
            "give a directory, .tar, .tar.gz, .tar.bz2 or .tar.zst",
        ))
    }
}

/// Reads files, directories and links of a tar stream; devices and pipes are left out, nothing is written to disk.
fn unpack(stream: impl Read, origin: &str) -> Result<Tree, Fault> {
    let mut tree = Tree::new();
    let mut archive = Archive::new(stream.take(MOST_BYTES));
    let mut entries = 0;
    for entry in archive.entries().map_err(|e| damaged(origin, e))? {
        let mut entry = entry.map_err(|e| damaged(origin, e))?;
        entries += 1;
        if entries > MOST_ENTRIES {
            return Err(damaged(origin, format!("it holds more than {MOST_ENTRIES} files")));
        }
        let Ok(path) = String::from_utf8(entry.path_bytes().into_owned()) else { continue };
        let target = || entry.link_name_bytes().and_then(|name| String::from_utf8(name.into_owned()).ok());
        match entry.header().entry_type() {
            EntryType::Directory => tree.add_dir(&path),
            EntryType::Symlink => target().map_or(Ok(()), |target| tree.add_link(&path, &target)),
            EntryType::Link => target().map_or(Ok(()), |target| tree.add_copy(&path, &target)),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                // A sparse entry can claim any size without the bytes behind it.
                let mut content = Vec::new();
                let read = (&mut entry).take(MOST_BYTES).read_to_end(&mut content);
                read.map_err(|e| damaged(origin, format!("{path}: {e}")))?;
                tree.add_file(&path, content)
            }
            _ => Ok(()),
        }
        .map_err(|why| damaged(origin, why))?;
    }
    if entries == 0 {
        return Err(damaged(origin, "it holds no files"));
    }
    Ok(tree)
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
    fn damaged_and_unknown_files_are_told_apart() {
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
}
