//! Words on the boot loader's command lines for the boots of a study: put in place by the hand, found again in the ledger, taken back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use change::ledger::Session;
use change::{Hand, ledger_dir};
use machine::kernel::boot;
use machine::knobs;
use machine::plan::{BOOT_PARAMETERS, MACHINE};
use machine::{Class, Fault, Machine, Root, Setting};

use super::ledger_purpose::LedgerPurpose;
use crate::boots::{self, Asked, Booted, Group, Readiness, Restarts, Standing};
use crate::case::{Case, Resolved, resume_command};

/// What a study asks of the boot loader, behind a trait so that studies across boots can be tested on a machine that is not there.
pub trait BootLoader {
    /// What stands on its lines for this study.
    fn standing(&self) -> Result<Standing, Fault>;

    /// Takes all of that away.
    fn take_back(&mut self) -> Result<(), Fault>;

    /// Adds words; nothing of this study stands there.
    fn put(&mut self, words: &[String]) -> Result<(), Fault>;
}

/// The boot loader of this machine, by the knob `boot-parameters`, the hand and its ledger.
#[derive(Debug)]
pub struct LiveBootLoader {
    placed: LedgerPurpose,
}

impl LiveBootLoader {
    /// For the study of the case in `dir`, by whose path its words are found again.
    pub fn of_case(dir: &Path) -> Result<Self, Fault> {
        let case = whole(dir)?;
        let purpose = format!(
            "boot parameters of the study in {}; pinwise resume continues after a reboot",
            case.display()
        );
        Ok(Self { placed: LedgerPurpose::by(purpose)? })
    }
}

impl BootLoader for LiveBootLoader {
    fn standing(&self) -> Result<Standing, Fault> {
        let sessions = self.placed.sessions()?;
        let acts: Vec<_> = sessions.iter().flat_map(Session::outstanding).collect();
        Ok(match acts[..] {
            [] => Standing::Words(Vec::new()),
            [act] if act.read_back.is_some() && act.undone.is_none() => act
                .setting
                .as_ref()
                .map_or(Standing::Unfinished, |set| Standing::Words(boot::words(&set.value))),
            _ => Standing::Unfinished,
        })
    }

    fn take_back(&mut self) -> Result<(), Fault> {
        self.placed.take_back()
    }

    fn put(&mut self, words: &[String]) -> Result<(), Fault> {
        let setting = setting(words);
        let mut hand = Hand::live(self.placed.purpose())?;
        for act in knobs::acts(&Root::live(), &setting)? {
            let receipt = hand.perform_for(&act, Some(&setting))?;
            if !receipt.took_effect {
                let cause = format!("it reads {} where {} was asked for", receipt.read_back, receipt.asked);
                return Err(Fault::new(
                    Class::MachineLacks,
                    receipt.object,
                    cause,
                    "nothing was changed; check it",
                ));
            }
        }
        hand.finish()
    }
}

/// The path by which what a study has placed is found again, also where the case itself is gone.
///
/// # Errors
/// A path that is not to be reported whole.
pub fn whole(dir: &Path) -> Result<PathBuf, Fault> {
    dir.canonicalize()
        .or_else(|_| std::path::absolute(dir))
        .map_err(|e| Fault::io(dir.display(), &e, "name the case by its full path"))
}

fn setting(words: &[String]) -> Setting {
    Setting { knob: BOOT_PARAMETERS.into(), target: MACHINE.into(), value: words.join(" ") }
}

/// Gets the next boot ready: its words, and no others of this study, are in place when it returns, and the case says so. As often as
/// one likes.
///
/// # Errors
/// The machine was started since, and came up otherwise: then nothing is changed. Words that cannot be written or taken back. Where
/// nobody looks before the next reboot: one more would be too many.
pub fn prepare(
    case: &mut Case,
    (group, now): (Group, &Booted),
    loader: &mut dyn BootLoader,
    restarts: Restarts,
) -> Result<(), Fault> {
    let standing = loader.standing()?;
    let words = case.study.words_of(group).to_vec();
    match boots::readiness(&case.study, &case.trials, &case.asked_boots, (group, now), &standing) {
        Readiness::Prepared => return Ok(()),
        Readiness::CameUpOtherwise => return Err(came_up_otherwise(case, &words, now)),
        Readiness::ToPrepare => {}
    }
    if let Some(why) = boots::enough(&case.study, &case.trials, &case.asked_boots, now, restarts) {
        let remedy =
            format!("check the logs of its trials, then continue manually: {}", resume_command(case.dir()));
        return Err(Fault::new(Class::No, "rebooting the machine", why, remedy));
    }
    if standing != Standing::Words(words.clone()) {
        loader.take_back()?;
        if !words.is_empty() {
            loader.put(&words)?;
        }
    }
    let trials = boots::with_figure(&case.trials);
    let Group { block, boot } = group;
    case.append_boot(Asked { block, boot, words, in_boot: now.id.clone(), trials })
}

/// The boot loader did not do as it was set.
fn came_up_otherwise(case: &Case, words: &[String], now: &Booted) -> Fault {
    let missing = now.missing_words(words);
    let cause = match missing.is_empty() {
        false => format!(
            "the machine was rebooted without '{}', which is on the boot loader's lines: it read others, or another kernel's",
            missing.join(" ")
        ),
        true => "the machine was rebooted with parameters of an earlier boot of this study, which pinwise has removed".into(),
    };
    let remedy = format!(
        "have the boot loader make its configuration anew (update-grub, grubby --info=ALL, kernel-install) and start the entry that it is \
         about, then: {}; or end it: pinwise undo",
        resume_command(case.dir())
    );
    Fault::new(Class::MachineLacks, "/proc/cmdline", cause, remedy)
}

/// Holds a study across boots against the machine before anything is made. Gives the boot that runs; nothing where it goes across none.
///
/// # Errors
/// No root, a container, no boot loader that pinwise can write to, words that it does not take or that the machine boots with already,
/// a case or a ledger in memory.
pub fn can_be_had(study: &Resolved, machine: &Machine, case: &Path) -> Result<String, Fault> {
    let Some(boots) = &study.boots else { return Ok(String::new()) };
    let refuse = |object: &str, cause: String, remedy: &str| {
        Err(Fault::new(Class::MachineLacks, object, cause, remedy))
    };
    if let Some(inside) = machine.containers.inside.as_ref().filter(|inside| inside.container) {
        let cause = format!("this is a container, which has the kernel of its host ({})", inside.because);
        return refuse("kernel parameters", cause, "run the study on the host");
    }
    let all: BTreeSet<&Vec<String>> = study.arms.iter().map(|arm| &arm.placement.boot_words).collect();
    for words in all.into_iter().filter(|words| !words.is_empty()) {
        knobs::acts(&Root::live(), &setting(words))?;
        if let Some(word) = words.iter().find(|word| boots.found.contains(word)) {
            let cause = "the machine boots with it already, so that every level has it";
            let remedy = "leave it out, or take it from the boot loader's configuration and restart first";
            return Err(Fault::new(Class::Usage, format!("boot word '{word}'"), cause, remedy));
        }
    }
    if !rustix::process::geteuid().is_root() {
        let remedy = "run the study as root";
        return Err(Fault::new(
            Class::NotPermitted,
            "the boot loader",
            "only root may change its parameters",
            remedy,
        ));
    }
    for (folder, remedy) in [
        (case, "choose a folder on a disk with -o"),
        (&*ledger_dir()?, "set PINWISE_STATE_DIR to a folder on a disk"),
    ] {
        if is_in_memory(folder) {
            let cause = "it lies in memory, and is gone after a reboot".into();
            return refuse(&folder.display().to_string(), cause, remedy);
        }
    }
    match Booted::read(&Root::live()) {
        Some(now) => Ok(now.id),
        None => refuse(
            "/proc/sys/kernel/random/boot_id",
            "the kernel does not report which boot this is".into(),
            "mount /proc",
        ),
    }
}

/// Whether a folder, or the nearest one above it that is there, is on tmpfs or ramfs (include/uapi/linux/magic.h).
pub fn is_in_memory(folder: &Path) -> bool {
    const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
    let Ok(whole) = std::path::absolute(folder) else { return false };
    let there = whole.ancestors().find_map(|folder| rustix::fs::statfs(folder).ok());
    there.is_some_and(|found| IN_MEMORY.contains(&(found.f_type as u32)))
}
