//! Files of the running system.

use std::fs;
use std::io;
use std::path::Path;

use machine::{ProcessFile, ProcessRef};
use rustix::fs::{Access, access};

use super::{Files, presence, process_file};
use crate::kernel::live::LiveKernel;
use crate::kernel::pseudo_files;

impl Files for LiveKernel {
    fn read_file(&self, path: &Path, namespace: Option<&str>) -> io::Result<String> {
        self.seeing(namespace, || fs::read_to_string(path))
    }

    fn write_file(&self, path: &Path, value: &str, namespace: Option<&str>) -> io::Result<()> {
        self.seeing(namespace, || pseudo_files::write(path, value))
    }

    fn may_write(&self, path: &Path, namespace: Option<&str>) -> io::Result<()> {
        self.seeing(namespace, || Ok(access(path, Access::WRITE_OK)?))
    }

    fn exists(&self, path: &Path, namespace: Option<&str>) -> io::Result<bool> {
        self.seeing(namespace, || presence::exists(path))
    }

    fn read_process_file(&self, process: &ProcessRef, file: ProcessFile) -> io::Result<String> {
        process_file::read(process, file)
    }

    fn write_process_file(&self, process: &ProcessRef, file: ProcessFile, value: i32) -> io::Result<()> {
        process_file::write(process, file, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_files_are_never_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = LiveKernel::new().write_file(file.path(), "x", None).unwrap_err();
        assert!(error.to_string().contains("writes to no others"), "{error}");
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "");
    }
}
