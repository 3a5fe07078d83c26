//! The service that resumes a study after a reboot. The hand places it; its ledger takes it back.

use std::path::{Path, PathBuf};

use change::Hand;
use change::ledger::Session;
use machine::act::platform_file::{HEAD, RESUME_UNIT};
use machine::{Act, Class, Fault, PlatformFile};
use study::engine::boot_parameters;
use study::engine::ledger_purpose::LedgerPurpose;

use crate::run_case::own_binary;

/// The target that wants the service.
const TARGET: &str = "multi-user.target";

/// The service of one case.
#[derive(Debug)]
pub struct ResumeUnit {
    case: PathBuf,
    placed: LedgerPurpose,
    /// Whether it was there when this run of the study began.
    pub stood: bool,
}

/// How many files it takes.
const FILES: usize = 2;

/// Fails where a study cannot go on by itself.
pub fn can_be_had() -> Result<(), Fault> {
    let object = "--reboot";
    if !rustix::process::geteuid().is_root() {
        let cause = "only root may reboot the machine";
        return Err(Fault::new(Class::NotPermitted, object, cause, "run it as root"));
    }
    if !Path::new("/run/systemd/system").is_dir() {
        let cause = "systemd, which would continue the study after a reboot, does not run here";
        let remedy = "leave it out, and reboot the machine yourself whenever pinwise asks you to";
        return Err(Fault::new(Class::MachineLacks, object, cause, remedy));
    }
    for needed in [own_binary()?, here()?] {
        if boot_parameters::is_in_memory(&needed) {
            let cause = "it is in memory, and is lost when the machine reboots: the study could not continue";
            let remedy = "start the study from a folder on a disk, with a pinwise that is installed on one";
            return Err(Fault::new(Class::MachineLacks, needed.display(), cause, remedy));
        }
    }
    Ok(())
}

/// The folder from which the study was begun.
fn here() -> Result<PathBuf, Fault> {
    std::env::current_dir()
        .map_err(|e| Fault::io("the current folder", &e, "start the study from a folder that exists"))
}

impl ResumeUnit {
    /// Of the case in `dir`, which need not be there any more.
    pub fn of_case(dir: &Path) -> Result<Self, Fault> {
        let case = boot_parameters::whole(dir)?;
        let placed = LedgerPurpose::by(format!("restarts of the study in {}", case.display()))?;
        let unit = Self { case, placed, stood: false };
        Ok(Self { stood: unit.stands()?, ..unit })
    }

    /// Whether both of its files are in place.
    fn stands(&self) -> Result<bool, Fault> {
        let acts = |session: &Session| session.outstanding().filter(|act| act.read_back.is_some()).count();
        Ok(self.placed.sessions()?.iter().map(acts).sum::<usize>() == FILES)
    }

    /// Fails where somebody has taken it back since this run began: the study is not to go on by itself then.
    pub fn is_still_wanted(&self) -> Result<(), Fault> {
        if !self.stood || self.stands()? {
            return Ok(());
        }
        Err(Fault::new(
            Class::No,
            RESUME_UNIT,
            "it was undone while the study ran (pinwise undo), so the machine is not rebooted",
            format!("pinwise resume {}, with --reboot or without", self.case.display()),
        ))
    }

    /// Places it, and has the target want it; once.
    pub fn place(&mut self) -> Result<(), Fault> {
        if self.stands()? {
            return Ok(());
        }
        self.take_back()?;
        let content = self.content()?;
        let mut hand = Hand::live(self.placed.purpose())?;
        let session = hand.session().to_string();
        let wanted = format!("{HEAD}[Unit]\nWants={RESUME_UNIT}\n");
        for (file, content) in [
            (PlatformFile::ResumeUnit, content),
            (PlatformFile::UnitDropIn { session, unit: TARGET.into() }, wanted),
        ] {
            hand.perform(&Act::PlaceFile { file, content, keeps: Vec::new() })?;
        }
        hand.finish()
    }

    /// Takes it away.
    pub fn take_back(&mut self) -> Result<(), Fault> {
        self.placed.take_back()
    }

    /// The unit (systemd.service(5)): with the folder, the path and the ledger of who began the study.
    fn content(&self) -> Result<String, Fault> {
        let here = here()?;
        let state = change::ledger::state_dir()?;
        let path = std::env::var("PATH").unwrap_or_default();
        let (exe, case) = (own_binary()?.display().to_string(), self.case.display().to_string());
        let plain = |path: &str| path.replace('%', "%%");
        // Not in the case: where that is gone the service has to start all the same, to take everything back.
        let log = plain(&state.join("boots.log").display().to_string());
        Ok(format!(
            "{HEAD}[Unit]\nDescription=pinwise continues the study in {}\nAfter={TARGET}\nRequiresMountsFor={}\n\n\
             [Service]\nType=exec\nWorkingDirectory={}\nEnvironment={} {}\nExecStart={} resume {} --reboot\n\
             StandardOutput=append:{log}\nStandardError=append:{log}\n",
            plain(&case),
            quoted(&case, false),
            plain(&here.display().to_string()),
            quoted(&format!("PINWISE_STATE_DIR={}", state.display()), false),
            quoted(&format!("PATH={path}"), false),
            quoted(&exe, true),
            quoted(&case, true),
        ))
    }
}

/// As one word of a unit file (systemd.syntax(7)); commands have their variables replaced, environments have not.
fn quoted(text: &str, is_command: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    let text = if is_command { text.replace('$', "$$") } else { text };
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_unit_file_whatever_it_is_called() {
        assert_eq!(quoted("/a b/50%\"$x\\", true), r#""/a b/50%%\"$$x\\""#);
        assert_eq!(quoted("PATH=$x", false), "\"PATH=$x\"");
    }

    #[test]
    fn the_service_goes_on_with_this_case() {
        let placed = LedgerPurpose::by(String::new()).expect("a place for a ledger");
        let unit = ResumeUnit { case: "/var/cases/a".into(), placed, stood: false };
        let content = unit.content().expect("a unit");
        assert!(content.contains(" resume \"/var/cases/a\" --reboot\n"), "{content}");
        assert!(content.contains("/boots.log\n") && !content.contains("a/boots.log"), "{content}");
    }
}
