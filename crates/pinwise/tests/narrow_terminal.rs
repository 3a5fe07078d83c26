//! What the sheets look like on a terminal (pty(7)) of few columns, and that a pipe gets their lines whole.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A terminal of so many columns: our side, and that of whoever is on it.
fn terminal(columns: u16) -> (File, File) {
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let mut name = [0; 64];
    // SAFETY: the descriptor is new and ours; the name is written into `name`, of that length, with its end; `size` outlives the call.
    let (ours, theirs) = unsafe {
        let fd = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(fd >= 0 && libc::grantpt(fd) == 0 && libc::unlockpt(fd) == 0);
        let ours = File::from_raw_fd(fd);
        assert_eq!(libc::ptsname_r(ours.as_raw_fd(), name.as_mut_ptr(), name.len()), 0);
        assert_eq!(libc::ioctl(fd, libc::TIOCSWINSZ, &raw const size), 0);
        (ours, CStr::from_ptr(name.as_ptr()).to_str().unwrap())
    };
    let theirs = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(theirs).unwrap();
    (ours, theirs)
}

fn pinwise(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// What is printed on a terminal of so many columns.
fn printed(columns: u16, arguments: &[&str]) -> String {
    let (mut ours, theirs) = terminal(columns);
    let mut command = pinwise(arguments);
    let mut child = command.stdout(theirs).spawn().unwrap();
    // The last open end but the child's: once that is closed, reading fails.
    drop(command);
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = ours.read(&mut piece) {
        bytes.extend_from_slice(&piece[..read]);
    }
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}

fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn sheets_fit_80_columns_and_have_every_word_and_a_pipe_gets_whole_lines() {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines");
    let corsair = machines.join("corsair").display().to_string();
    for part in [&[][..], &["--irqs"], &["--kernel"], &["--power"], &["--device", "p7p1"]] {
        let arguments = [&["map", "--from", &corsair], part].concat();
        let piped = String::from_utf8(pinwise(&arguments).output().unwrap().stdout).unwrap();
        let narrow = printed(80, &arguments);
        assert_eq!(bare(&narrow), bare(&piped), "{part:?}");
        for line in narrow.lines() {
            let is_one_word = line.split_whitespace().count() <= 1;
            assert!(line.chars().count() <= 80 || is_one_word, "{part:?}: {line}");
        }
        let ends = |text: &str| text.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>();
        assert_eq!(ends(&printed(1_000, &arguments)), ends(&piped), "{part:?}");
    }
    let arguments = ["map", "--from", &corsair, "--format", "json"];
    let piped = String::from_utf8(pinwise(&arguments).output().unwrap().stdout).unwrap();
    assert_eq!(printed(80, &arguments), piped, "a document is for programs");
}
