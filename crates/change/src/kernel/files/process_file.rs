//! Files of /proc/PID, safe against reuse of the number.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use machine::procfs::pid_stat;
use machine::{ProcessFile, ProcessRef};
use rustix::fs::{CWD, Mode, OFlags, openat};

/// How long to wait for the rate limit of autogroups: one change in 100 ms for users other than root
/// (kernel/sched/autogroup.c). The undo of an act may have to wait for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opens the folder of this very process.
///
/// The folder stays with its process: once that has ended, to open a file in it fails with ESRCH, even if the number was
/// reused. So the start time has to be compared only once.
fn folder(process: &ProcessRef) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, format!("/proc/{}", process.pid), flags, Mode::empty())?;
    let text = text(&folder, "stat")?;
    match pid_stat::parse(&text) {
        Ok(stat) if stat.start_time_ticks == process.start_time_ticks => Ok(folder),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        Err(why) => Err(io::Error::new(io::ErrorKind::InvalidData, why.to_string())),
    }
}

fn text(folder: &OwnedFd, name: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::from(openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The content of a file of the process.
///
/// # Errors
/// `ESRCH` when the process has gone.
pub fn read(process: &ProcessRef, file: ProcessFile) -> io::Result<String> {
    text(&folder(process)?, file.name())
}

/// Writes a number to a file of the process.
///
/// # Errors
/// `ESRCH` when the process has gone; what the kernel refuses the number with.
pub fn write(process: &ProcessRef, file: ProcessFile, value: i32) -> io::Result<()> {
    let folder = folder(process)?;
    let file = openat(&folder, file.name(), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    let (mut file, line) = (File::from(file), format!("{value}\n"));
    let until = Instant::now() + PATIENCE;
    loop {
        // In one call, since each call is a change.
        match file.write(line.as_bytes()) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(_) => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{LiveKernel, Processes as _};

    #[test]
    fn another_process_of_the_same_number_is_not_touched() {
        let own = LiveKernel::new().own().unwrap();
        let before = read(&own, ProcessFile::OomScoreAdj).unwrap();
        let other = ProcessRef { start_time_ticks: own.start_time_ticks + 1, ..own };
        let error = write(&other, ProcessFile::OomScoreAdj, 1000).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
        assert_eq!(read(&other, ProcessFile::OomScoreAdj).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert_eq!(read(&own, ProcessFile::OomScoreAdj).unwrap(), before);
    }
}
