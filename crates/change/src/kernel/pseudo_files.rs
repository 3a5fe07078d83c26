//! Files on the kernel's own file systems: pinwise writes no others in place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Numbers of file systems (include/uapi/linux/magic.h).
pub mod magic {
    /// PROC_SUPER_MAGIC.
    pub const PROC: u64 = 0x9fa0;
    /// SYSFS_MAGIC.
    pub const SYSFS: u64 = 0x6265_6572;
    /// CGROUP_SUPER_MAGIC.
    pub const CGROUP: u64 = 0x0027_e0eb;
    /// CGROUP2_SUPER_MAGIC.
    pub const CGROUP2: u64 = 0x6367_7270;
    /// DEBUGFS_MAGIC.
    pub const DEBUGFS: u64 = 0x6462_6720;
    /// TRACEFS_MAGIC.
    pub const TRACEFS: u64 = 0x7472_6163;
}

/// Something that lies on a file system.
pub trait OnFileSystem {
    /// Number of the file system (`f_type` of statfs(2)).
    fn magic(&self) -> io::Result<u64>;
}

impl OnFileSystem for File {
    fn magic(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstatfs(self)?.f_type as u64)
    }
}

impl OnFileSystem for Path {
    fn magic(&self) -> io::Result<u64> {
        Ok(rustix::fs::statfs(self)?.f_type as u64)
    }
}

/// Whether it lies on procfs, sysfs, a cgroup hierarchy or debugfs.
pub fn is_pseudo(of: &(impl OnFileSystem + ?Sized)) -> io::Result<bool> {
    use magic::{CGROUP, CGROUP2, DEBUGFS, PROC, SYSFS};
    Ok([PROC, SYSFS, CGROUP, CGROUP2, DEBUGFS].contains(&of.magic()?))
}

/// Writes a value and a newline. In one call, since an empty value would not be written at all without the newline.
///
/// # Errors
/// `InvalidInput` for a file on any other file system; what the kernel refuses the value with.
pub fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    if !is_pseudo(&file)? {
        let why = "this is not a file of /proc, /sys or a cgroup, and pinwise writes to no others";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let line = format!("{}\n", value.trim_end_matches('\n'));
    match file.write(line.as_bytes())? {
        written if written == line.len() => Ok(()),
        written => {
            Err(io::Error::new(io::ErrorKind::WriteZero, format!("the kernel took only {written} bytes")))
        }
    }
}

/// The number in a file.
pub fn read_number(path: &str) -> io::Result<u64> {
    fs::read_to_string(path)?
        .trim()
        .parse()
        .map_err(|_| io::Error::other(format!("{path} does not hold a number")))
}
