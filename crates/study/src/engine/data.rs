//! What all trials of a study share: made once by the server's own command, kept until the study is over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use change::exit_words::exit_words;
use change::{Hand, Launch};
use load::ServerSpec;
use load::server::DATA;
use machine::{Class, Fault};

/// The folder below a case.
pub const FOLDER: &str = "data";

/// A file in a folder that is whole.
const WHOLE: &str = ".whole";

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The data folders of a study: one for each command that makes some, since levels may vary it.
#[derive(Debug)]
pub struct Data {
    base: PathBuf,
}

impl Data {
    /// Those of the case in `dir`.
    pub fn of_case(dir: &Path) -> Self {
        Self { base: dir.join(FOLDER) }
    }

    /// The server with `{data}` filled in, once the folder is whole; itself where it prepares nothing.
    ///
    /// # Errors
    /// The command cannot be started, fails (with the end of its log), or takes longer than `prepare_timeout_s`.
    pub fn prepared(
        &self,
        server: ServerSpec,
        hand: &mut Hand,
        stop: &AtomicBool,
    ) -> Result<ServerSpec, Fault> {
        if server.prepare.is_empty() {
            return Ok(server);
        }
        let base = std::path::absolute(&self.base)
            .map_err(|e| Fault::io(self.base.display(), &e, "name the case by its full path"))?;
        let folder = base.join(name(&server));
        let variables = BTreeMap::from([(DATA.to_string(), folder.display().to_string())]);
        let server = server.with_variables(&variables);
        if !folder.join(WHOLE).exists() {
            make(&folder, &server, hand, stop)?;
        }
        Ok(server)
    }

    /// Removes all of it: it can be made again, and may be large.
    pub fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

/// The same for the same command, other for another one.
fn name(server: &ServerSpec) -> String {
    let bytes = server.prepare.words().iter().flat_map(|word| word.bytes().chain([0]));
    // FNV-1a, 64 bits.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn make(folder: &Path, server: &ServerSpec, hand: &mut Hand, stop: &AtomicBool) -> Result<(), Fault> {
    let storage = |e: std::io::Error| {
        Fault::io(folder.display(), &e, "free some space or choose another folder with -o")
    };
    // What a command that was cut off has left is nothing to go on with.
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).map_err(storage)?;
    let log = folder.with_extension("log");
    let argv = server.prepare.fill(&BTreeMap::new())?;
    let mut launched = hand.launch(&Launch {
        argv: argv.clone(),
        env: server.env.clone().into_iter().filter(|(_, value)| !value.contains('{')).collect(),
        cwd: Some(folder.to_path_buf()),
        log: log.clone(),
        ..Launch::default()
    })?;
    let began = Instant::now();
    let name = format!("server: prepare '{}'", argv.join(" "));
    loop {
        if let Some(status) = launched.try_wait()? {
            if !status.success() {
                let cause = format!("{}; see {}", exit_words(status), log.display());
                // Every trial would fail of it.
                return Err(Fault::new(Class::Usage, name, cause, "run it by hand to see why it fails"));
            }
            return std::fs::write(folder.join(WHOLE), "").map_err(storage);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Fault::new(Class::Interrupted, "study", "stopped", ""));
        }
        if began.elapsed().as_secs_f64() > server.prepare_timeout_s {
            let cause = format!("still ran after {} s and was ended", server.prepare_timeout_s);
            return Err(Fault::new(Class::Usage, name, cause, "raise server.prepare_timeout_s"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(command: &str) -> ServerSpec {
        ServerSpec { prepare: command.parse().unwrap(), ..ServerSpec::default() }
    }

    #[test]
    fn a_folder_belongs_to_a_command() {
        assert_eq!(name(&server("sh -c 'a b'")), name(&server("sh -c \"a b\"")));
        assert_ne!(name(&server("sh -c 'a b'")), name(&server("sh -c a b")));
        assert_ne!(name(&server("make 1000")), name(&server("make 100")));
    }
}
