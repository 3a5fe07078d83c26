//! What all trials of a study share: made once by the server's own command, kept until the study is over.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use change::exit_words;
use change::{Hand, Launch};
use load::ServerSpec;
use load::server::DATA;
use machine::own_folder::Reach;
use machine::{Class, Fault, OwnFolder};

use crate::case::{Case, DATA_FOLDER};

/// Ends the name of a file beside a folder that is whole. In it the server's command could have put a link in its place.
const WHOLE: &str = "whole";

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The data folders of a study: one for each command that makes some, since levels may vary it.
#[derive(Debug)]
pub struct Data {
    case: OwnFolder,
}

impl Data {
    /// Those of a case.
    ///
    /// # Errors
    /// As [`Case::folder`].
    pub fn of_case(case: &Case) -> Result<Self, Fault> {
        let again = case.folder()?.again();
        let case = again.map_err(|e| Fault::io(case.dir().display(), &e, "raise the limit of open files"))?;
        Ok(Self { case })
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
        let base = self.case.make_folder(DATA_FOLDER, Reach::Passable)?;
        let name = name(&server);
        let folder = std::path::absolute(base.path().join(&name))
            .map_err(|e| Fault::io(base.path().display(), &e, "name the case by its full path"))?;
        let variables = BTreeMap::from([(DATA.to_string(), folder.display().to_string())]);
        let server = server.with_variables(&variables);
        let whole = format!("{name}.{WHOLE}");
        if !base.holds(&name) || base.read(&whole).is_err() {
            base.remove_all(&whole).map_err(|e| storage(&folder, &e))?;
            // What a command that was cut off has left is nothing to go on with. A server that becomes another user must get in.
            base.fresh_folder(&name, Reach::Passable)?;
            base.append(&format!("{name}.log")).map_err(|e| storage(&folder, &e))?;
            make(&folder, &server, hand, stop)?;
            base.replace(&whole, b"").map_err(|e| storage(&folder, &e))?;
        }
        Ok(server)
    }

    /// Removes all of it: it can be made again, and may be large.
    pub fn remove(&self) {
        let _ = self.case.remove_all(DATA_FOLDER);
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

fn storage(folder: &Path, error: &std::io::Error) -> Fault {
    Fault::io(folder.display(), error, "free some space or choose another folder with -o")
}

/// Runs the command in its folder, to its end.
fn make(folder: &Path, server: &ServerSpec, hand: &mut Hand, stop: &AtomicBool) -> Result<(), Fault> {
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
                return Err(Fault::new(Class::Usage, name, cause, "run it manually to see why it fails"));
            }
            return Ok(());
        }
        if stop.load(Ordering::Relaxed) {
            return Err(super::stopped());
        }
        if began.elapsed().as_secs_f64() > server.prepare_timeout_s {
            let cause = format!("was still running after {} s and was ended", server.prepare_timeout_s);
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
