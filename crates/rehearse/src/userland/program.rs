//! A program that a guest takes along, with the libraries that it needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use machine::{Class, Fault, program_path};
use object::Endianness;
use object::elf;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, SectionHeader};

/// A program of this machine under the name that it has in the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Name below /bin.
    pub name: String,
    /// Where it is here.
    pub path: PathBuf,
}

impl Program {
    /// The program at `path`, under its own name.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { name: name_of(&path), path }
    }

    /// Itself and its libraries: path in the guest (without the leading slash) and content. What only a debugger
    /// reads is left out.
    ///
    /// # Errors
    /// When it cannot be read, or its loader cannot list its libraries.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>, Fault> {
        let path = located(&self.path)?;
        let bytes = read(&path)?;
        let mut files = vec![(format!("bin/{}", self.name), loaded(&bytes).to_vec())];
        if let Some(loader) = interpreter(&bytes) {
            for library in libraries(&loader, &path)? {
                let content = read(&library)?;
                let inside = library.to_string_lossy().trim_start_matches('/').to_string();
                files.push((inside, loaded(&content).to_vec()));
            }
        }
        Ok(files)
    }
}

/// The name under which a program is found in a guest.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    fs::read(path).map_err(|e| Fault::io(path.display(), &e, "name a program that can be read"))
}

/// The loader that an ELF program asks for; `None` when it needs none, or is no ELF program.
pub fn interpreter(program: &[u8]) -> Option<String> {
    let file = ElfFile64::<Endianness>::parse(program).ok()?;
    let endian = file.endian();
    let asked = file
        .elf_program_headers()
        .iter()
        .find_map(|header| header.interpreter(endian, program).ok().flatten())?;
    String::from_utf8(asked.to_vec()).ok()
}

/// Loaders that may be run. A program names its own loader, and listing libraries means running it.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"];

/// What the loader says that a program needs, itself included. The loader only lists; the program does not run.
fn libraries(loader: &str, program: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unknown = |why: &dyn std::fmt::Display| {
        let cause = format!("its libraries are not known: {loader} --list: {why}");
        Fault::new(Class::MachineLacks, program.display(), cause, "use a program that is linked statically")
    };
    if !LOADERS.contains(&loader) {
        return Err(unknown(&"it is no loader that pinwise knows, and is not run"));
    }
    let listed = Command::new(loader).arg("--list").arg(program).output().map_err(|e| unknown(&e))?;
    if !listed.status.success() {
        return Err(unknown(&String::from_utf8_lossy(&listed.stderr).trim()));
    }
    let mut paths = listed_paths(&String::from_utf8_lossy(&listed.stdout))
        .map_err(|name| unknown(&format!("{name} not found")))?;
    paths.push(PathBuf::from(loader));
    Ok(paths)
}

/// Paths in what the loader lists: `libm.so.6 => /lib/libm.so.6 (0x...)`. A library that is not found is an error.
fn listed_paths(text: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some((name, found)) = line.split_once(" => ") else { continue };
        match found.split(" (").next() {
            Some(path) if path.starts_with('/') => paths.push(PathBuf::from(path)),
            _ => return Err(name.to_string()),
        }
    }
    Ok(paths)
}

/// The part of an ELF file that is loaded when it runs: symbols and debugging sections stand behind it. The table of
/// sections is then out of the file, which no loader reads.
fn loaded(file: &[u8]) -> &[u8] {
    loaded_bytes(file).and_then(|end| file.get(..end)).unwrap_or(file)
}

/// Where the part that is loaded ends; `None` when the file is no ELF file, contradicts itself, or has something behind
/// its sections, as programs have that carry their own archive.
fn loaded_bytes(file: &[u8]) -> Option<usize> {
    let parsed = ElfFile64::<Endianness>::parse(file).ok()?;
    let endian = parsed.endian();
    let header = parsed.elf_header();
    let table = |at: u64, size: u16, count: u16| at.checked_add(u64::from(size) * u64::from(count));
    let segments =
        parsed.elf_program_headers().iter().filter(|segment| segment.p_type(endian) != elf::PT_NULL);
    let mut end = table(header.e_phoff(endian), header.e_phentsize(endian), header.e_phnum(endian))?;
    for segment in segments {
        end = end.max(segment.p_offset(endian).checked_add(segment.p_filesz(endian))?);
    }
    let mut known =
        table(header.e_shoff(endian), header.e_shentsize(endian), header.e_shnum(endian))?.max(end);
    for section in
        parsed.elf_section_table().iter().filter(|section| section.sh_type(endian) != elf::SHT_NOBITS)
    {
        known = known.max(section.sh_offset(endian).checked_add(section.sh_size(endian))?);
    }
    // Linkers fill up to the next word.
    let payload = (file.len() as u64).saturating_sub(known) > 16;
    usize::try_from(end).ok().filter(|_| !payload)
}

/// Where a program is: itself, or the first of that name in PATH, without links.
fn located(path: &Path) -> Result<PathBuf, Fault> {
    let bare = path.components().count() == 1 && !path.exists();
    let paths = std::env::var_os("PATH");
    let in_path = if bare { program_path::in_path(path.as_os_str(), paths.as_deref()) } else { None };
    let found = in_path.unwrap_or_else(|| path.to_path_buf());
    found.canonicalize().map_err(|e| Fault::io(path.display(), &e, "name a program that can be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_loader_lists() {
        let text = "\tlinux-vdso.so.1 (0x7ff)\n\tlibm.so.6 => /lib/libm.so.6 (0x7f)\n\t/lib64/ld.so (0x7f)\n";
        assert_eq!(listed_paths(text).unwrap(), [PathBuf::from("/lib/libm.so.6")]);
        assert_eq!(listed_paths("libx.so => not found\n"), Err("libx.so".to_string()));
    }

    #[test]
    fn this_test_itself_loses_only_what_is_not_loaded() {
        let path = std::env::current_exe().unwrap();
        let whole = fs::read(&path).unwrap();
        let part = loaded(&whole);
        assert!(part.len() < whole.len());
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy");
        fs::write(&copy, part).unwrap();
        fs::set_permissions(&copy, fs::metadata(&path).unwrap().permissions()).unwrap();
        let listed = Command::new(&copy).args(["--list", "this_test_itself"]).output().unwrap();
        assert!(String::from_utf8_lossy(&listed.stdout).contains("this_test_itself_loses"));
    }

    #[test]
    fn what_carries_an_archive_is_kept_whole_and_a_spoilt_file_too() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let carrying = [&whole[..], &[7; 64]].concat();
        assert_eq!(loaded(&carrying).len(), carrying.len());
        // The offset and size of the first segment are as large as can be.
        let mut spoilt = whole.clone();
        let first = u64::from_le_bytes(whole[32..40].try_into().unwrap()) as usize;
        spoilt[first + 8..first + 16].fill(0xff);
        spoilt[first + 32..first + 40].fill(0xff);
        assert_eq!(loaded(&spoilt).len(), spoilt.len());
    }

    #[test]
    fn a_bare_name_is_looked_for_in_path() {
        assert!(located(Path::new("sh")).unwrap().is_absolute());
        assert!(located(Path::new("no-such-program")).is_err());
    }

    #[test]
    fn a_loader_that_is_not_known_is_not_run() {
        let why = libraries("/tmp/evil", Path::new("/bin/true")).unwrap_err().to_string();
        assert!(why.contains("no loader that pinwise knows"), "{why}");
    }

    #[test]
    fn text_has_no_loader() {
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
    }
}
