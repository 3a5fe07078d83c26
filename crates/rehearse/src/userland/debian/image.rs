//! Makes the image of a root: `mmdebstrap` writes it as an archive, `mksquashfs` packs that.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use machine::{Class, Fault};

use super::sources::Sources;
use crate::cache::storage;
use crate::os;

/// What it takes, with the packages that have it.
const TOOLS: [(&str, &str); 2] = [("mmdebstrap", "mmdebstrap"), ("mksquashfs", "squashfs-tools")];

/// Lines of the tools' output that an error quotes.
const LAST_LINES: usize = 4;

/// Whether roots can be made here.
///
/// # Errors
/// When a tool is missing.
pub fn check() -> Result<(), Fault> {
    for (tool, package) in TOOLS {
        let asked = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        asked.map_err(|e| missing(tool, package, &e))?;
    }
    Ok(())
}

fn missing(tool: &str, package: &str, why: &std::io::Error) -> Fault {
    let remedy = format!("install it (Debian: {package}), or use --userland busybox");
    Fault::new(Class::MachineLacks, tool, why, remedy)
}

/// Makes `image`; it is there when it is whole, and not before.
pub(super) fn make(
    sources: &Sources,
    packages: &BTreeSet<String>,
    image: &Path,
    making: &mut dyn FnMut(&str),
) -> Result<(), Fault> {
    check()?;
    let names: Vec<&str> = packages.iter().map(String::as_str).collect();
    let (with, kept) = (names.join(", "), image.display());
    making(&format!("making a Debian root with {with} (once, takes a minute or two; kept in {kept})"));
    let [list, settings, log, part] = ["list", "apt", "log", "part"].map(|end| image.with_extension(end));
    fs::write(&list, &sources.list).map_err(|e| storage(&list, &e))?;
    fs::write(&settings, &sources.settings).map_err(|e| storage(&settings, &e))?;
    let words = File::create(&log).map_err(|e| storage(&log, &e))?;
    let ended = pack(&bootstrap(&sources.suite, &names, &settings, &list), &part, &words);
    let done = ended.and_then(|ended| verdict(ended, &fs::read_to_string(&log).unwrap_or_default()));
    let done = done.and_then(|()| fs::rename(&part, image).map_err(|e| storage(image, &e)));
    for path in [&list, &settings, &log, &part] {
        // The part is the image by now, or nothing.
        let _ = fs::remove_file(path);
    }
    done
}

/// Arguments of `mmdebstrap`. The root has no apt: a guest reaches nobody. What only people read is left out.
fn bootstrap(suite: &str, packages: &[&str], settings: &Path, list: &Path) -> Vec<String> {
    let mut words: Vec<String> = vec![
        "--quiet".into(),
        "--format=tar".into(),
        "--variant=essential".into(),
        format!("--include={}", packages.join(",")),
        format!("--aptopt={}", settings.display()),
    ];
    let unread = ["doc", "man", "locale", "info"];
    words.extend(unread.map(|folder| format!("--dpkgopt=path-exclude=/usr/share/{folder}/*")));
    words.extend([suite.to_string(), "-".to_string(), list.display().to_string()]);
    words
}

/// How the two ended.
struct Ended {
    bootstrap: ExitStatus,
    packing: ExitStatus,
}

/// Runs both, the one writing what the other reads, so that the root never lies on a disk unpacked.
fn pack(bootstrap: &[String], part: &Path, log: &File) -> Result<Ended, Fault> {
    let words = || log.try_clone().map_err(|e| storage(part, &e));
    // An older pinwise that was killed may have left one, to which the tool would add.
    let _ = fs::remove_file(part);
    let mut packing = Command::new("mksquashfs");
    packing.arg("-").arg(part).args(["-tar", "-quiet", "-no-progress", "-root-mode", "0755"]);
    // Quick to unpack: each block is unpacked by an emulated processor.
    packing.args(["-comp", "lz4"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(words()?);
    let mut packing = start(&mut packing, TOOLS[1])?;
    let mut making = Command::new("mmdebstrap");
    making.args(bootstrap).stdin(Stdio::null()).stderr(words()?);
    making.stdout(packing.stdin.take().map_or_else(Stdio::null, Stdio::from));
    let made = start(&mut making, TOOLS[0]).and_then(|mut made| wait(&mut made, TOOLS[0]));
    // Without this the pipe stays open, and its reader waits for more.
    drop(making);
    let packed = wait(&mut packing, TOOLS[1])?;
    Ok(Ended { bootstrap: made?, packing: packed })
}

fn start(command: &mut Command, (tool, package): (&str, &str)) -> Result<Child, Fault> {
    os::end_with_parent(command);
    command.spawn().map_err(|e| missing(tool, package, &e))
}

fn wait(child: &mut Child, (tool, package): (&str, &str)) -> Result<ExitStatus, Fault> {
    child.wait().map_err(|e| missing(tool, package, &e))
}

/// Whether it succeeded; the tools' own output says why it failed.
fn verdict(ended: Ended, words: &str) -> Result<(), Fault> {
    if ended.bootstrap.success() && ended.packing.success() {
        return Ok(());
    }
    let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    let said = lines[lines.len().saturating_sub(LAST_LINES)..].join("; ");
    let (tool, status) = match ended.bootstrap.success() {
        true => ("mksquashfs", ended.packing),
        false => ("mmdebstrap", ended.bootstrap),
    };
    let cause = format!("failed ({status}): {said}");
    // When the cache is full, the tool that reads reports it; when the temporary folder is full, the one that writes.
    if ["No space left", "not enough free space", "Disk quota"].iter().any(|full| words.contains(full)) {
        let remedy = "make room, or set PINWISE_CACHE and TMPDIR to folders with 1 GB of room";
        return Err(Fault::new(Class::Storage, tool, cause, remedy));
    }
    let remedy = "see to it that the packages exist and apt works (apt-get update)";
    Err(Fault::new(Class::MachineLacks, tool, cause, remedy))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn judged(codes: [i32; 2], words: &str) -> Result<(), Fault> {
        let [bootstrap, packing] = codes.map(|code| ExitStatus::from_raw(code << 8));
        verdict(Ended { bootstrap, packing }, words)
    }

    #[test]
    fn the_one_that_failed_first_is_named() {
        assert!(judged([0, 0], "W: whatever").is_ok());
        let words = "E: Unable to locate package nonesuch\nE: mmdebstrap failed to run\n\n\
                     FATAL ERROR: Error occurred reading tar file\n";
        let refused = judged([25, 1], words).unwrap_err();
        assert_eq!((refused.class, refused.object.as_str()), (Class::MachineLacks, "mmdebstrap"));
        assert!(refused.to_string().contains("locate package nonesuch"), "{refused}");
    }

    #[test]
    fn a_full_disk_is_reported_as_such() {
        let refused =
            judged([0, 1], "FATAL ERROR: Write failed because No space left on device\n").unwrap_err();
        assert_eq!((refused.class, refused.object.as_str()), (Class::Storage, "mksquashfs"));
    }

    #[test]
    fn packages_settings_and_sources_are_passed_on() {
        let words = bootstrap("bookworm", &["udev", "tuned"], Path::new("/c/a.apt"), Path::new("/c/a.list"));
        assert!(words.contains(&"--include=udev,tuned".to_string()));
        assert!(words.contains(&"--aptopt=/c/a.apt".to_string()));
        assert!(words.join(" ").ends_with("bookworm - /c/a.list"), "{words:?}");
    }
}
