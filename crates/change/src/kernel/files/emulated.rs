//! Files of the emulated machine.

mod formats;
mod pktgen;

use std::io;
use std::path::{Path, PathBuf};

use machine::ethtool::Topic;
use machine::{ProcessFile, ProcessRef};

use super::Files;
use crate::kernel::emulated::{EmulatedKernel, error};

fn process_file(process: &ProcessRef, file: ProcessFile) -> PathBuf {
    format!("/proc/{}/{}", process.pid, file.name()).into()
}

impl Files for EmulatedKernel {
    fn read_file(&self, path: &Path, netns: Option<&str>) -> io::Result<String> {
        let key = (self.view_of(path, netns), path.to_path_buf());
        let mut inner = self.inner();
        if let Some(errno) = inner.unreadable.get(path) {
            return Err(error(*errno));
        }
        let content = inner.state.files.get(&key).cloned().ok_or_else(|| error(libc::ENOENT))?;
        if let Some(later) = inner.after_reading.remove(path) {
            inner.state.files.insert(key, later);
        }
        Ok(content)
    }

    fn write_file(&self, path: &Path, value: &str, netns: Option<&str>) -> io::Result<()> {
        let netns = self.view_of(path, netns);
        self.change(&path.display().to_string(), |inner| {
            let key = |path: &Path| (netns.clone(), path.to_path_buf());
            let value = value.trim_end();
            let lie = inner.lies.get(path).cloned();
            let twin = formats::twin(path);
            let file = inner.state.files.get_mut(&key(path)).ok_or_else(|| error(libc::ENOENT))?;
            if twin.is_some() && value == "0" && path.ends_with("dirty_bytes") {
                return Err(error(libc::EINVAL));
            }
            if lie.is_none() && pktgen::is_thread(path) {
                return pktgen::command(&mut inner.state.files, &netns, path, value);
            }
            let shown = lie.unwrap_or_else(|| {
                format!("{}\n", formats::with_choice(file, value).unwrap_or(value.into()))
            });
            let changed = *file != shown;
            *file = shown;
            // As in mm/page-writeback.c: only a new value resets the twin.
            if let Some(twin) =
                twin.filter(|_| changed).and_then(|twin| inner.state.files.get_mut(&key(&twin)))
            {
                *twin = "0\n".into();
            }
            Ok(())
        })
    }

    fn may_write(&self, path: &Path, netns: Option<&str>) -> io::Result<()> {
        let key = (self.view_of(path, netns), path.to_path_buf());
        let inner = self.inner();
        let refusal = inner.refusals.get(&path.display().to_string()).copied();
        match refusal.filter(|errno| matches!(*errno, libc::EROFS | libc::EACCES)) {
            Some(errno) => Err(error(errno)),
            None if inner.state.files.contains_key(&key) => Ok(()),
            None => Err(error(libc::ENOENT)),
        }
    }

    fn exists(&self, path: &Path, netns: Option<&str>) -> io::Result<bool> {
        let netns = self.view_of(path, netns);
        let inner = self.inner();
        let is_device = |(of, device, _): &(Option<String>, String, Topic)| {
            *of == netns && path == Path::new("/sys/class/net").join(device)
        };
        Ok(inner.state.ethtool.keys().any(is_device)
            || inner.state.folders.contains(path)
            || inner.state.files.contains_key(&(netns.clone(), path.to_path_buf())))
    }

    fn read_process_file(&self, process: &ProcessRef, file: ProcessFile) -> io::Result<String> {
        self.inner().same_process(process)?;
        self.read_file(&process_file(process, file), None)
    }

    fn write_process_file(&self, process: &ProcessRef, file: ProcessFile, value: i32) -> io::Result<()> {
        let path = process_file(process, file);
        self.change(&path.display().to_string(), |inner| {
            inner.same_process(process)?;
            let key = (None, path.clone());
            let now = inner.state.files.get(&key).cloned().ok_or_else(|| error(libc::ENOENT))?;
            let Some(group) = formats::autogroup(&now).filter(|_| file == ProcessFile::Autogroup) else {
                inner.state.files.insert(key, format!("{value}\n"));
                return Ok(());
            };
            // All processes of a session share it.
            let shown = format!("{group} nice {value}\n");
            let of_group = |text: &String| formats::autogroup(text) == Some(group);
            let files = inner.state.files.iter_mut().filter(|((_, path), _)| path.ends_with("autogroup"));
            files.filter(|(_, text)| of_group(text)).for_each(|(_, text)| *text = shown.clone());
            Ok(())
        })
    }
}
