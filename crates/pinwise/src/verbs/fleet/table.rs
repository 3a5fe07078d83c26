//! The table in Parquet, in the file that `-o` names.

use std::fs::FileType;
use std::io::{self, Write as _};
use std::path::Path;

use advise::fleet::Fleet;
use machine::own_folder::named;
use machine::{Class, Fault};
use rustix::fs::Access;

use crate::notes::note;
use crate::output;

/// Looks whether a table can be written there, before hosts are read for it.
///
/// # Errors
/// It is a folder, or a file cannot be made there.
pub(super) fn check_place(path: &Path) -> Result<(), Fault> {
    match kind(path) {
        Some(kind) if kind.is_dir() => {
            let remedy = "name a file, as in -o fleet.parquet";
            Err(Fault::new(Class::Usage, path.display(), "it is a folder", remedy))
        }
        Some(kind) if !kind.is_file() => Ok(()),
        _ => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            rustix::fs::access(above.unwrap_or(Path::new(".")), Access::WRITE_OK)
                .map_err(|e| output::not_written(path.display(), &io::Error::from(e)))
        }
    }
}

/// Writes the table, whole or not at all where it is a file.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(path: &Path, fleet: &Fleet) -> Result<(), Fault> {
    let not_written = |e: io::Error| output::not_written(path.display(), &e);
    if kind(path).is_none_or(|kind| kind.is_file()) {
        named::replace_with(path, |file| report::fleet::write_parquet(fleet, file)).map_err(not_written)?;
    } else {
        // A pipe or a link is written to, and not replaced.
        let mut to = output::open(Some(path), None)?.to;
        report::fleet::write_parquet(fleet, &mut to).and_then(|()| to.flush()).map_err(not_written)?;
    }
    note!("wrote {}", path.display());
    Ok(())
}

/// What is there; none where nothing is.
fn kind(path: &Path) -> Option<FileType> {
    std::fs::symlink_metadata(path).ok().map(|about| about.file_type())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_takes_no_table_is_named_before_anything_is_read() {
        let folder = tempfile::tempdir().unwrap();
        check_place(&folder.path().join("fleet.parquet")).unwrap();
        check_place(Path::new("/dev/null")).unwrap();
        for place in [folder.path().to_path_buf(), folder.path().join("nowhere/fleet.parquet")] {
            let fault = check_place(&place).unwrap_err().to_string();
            assert!(fault.contains(&place.display().to_string()) && fault.contains("-o"), "{fault}");
        }
    }

    #[test]
    fn a_table_replaces_the_one_that_was_there_and_goes_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["fleet.parquet", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "of yesterday").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let is_table = || std::fs::read(&file).unwrap().starts_with(b"PAR1");
        write(&link, &Fleet { shapes: Vec::new() }).unwrap();
        assert!(is_table() && link.is_symlink());
        std::fs::write(&file, "of yesterday").unwrap();
        write(&file, &Fleet { shapes: Vec::new() }).unwrap();
        assert!(is_table());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no part is left");
    }
}
