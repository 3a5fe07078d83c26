//! The verdict on an account, by the rules of `pinwise diagnose`.

use advise::diagnosis::{self, Diagnosis};
use machine::{Machine, Root};
use probe::account::Account;
use probe::{Observation, Situation, Surroundings};

use super::target::Watched;

/// What surrounds an account while it is taken.
pub struct Judging {
    surroundings: Surroundings,
}

impl Judging {
    /// Reads what must be read before the window: a pass over /proc.
    pub fn begin(root: &Root, watched: &Watched) -> Self {
        Self { surroundings: Surroundings::read(root, watched.asked(), watched.subject(), watched.pids()) }
    }

    /// Reads the rest after the window, and judges. Of some CPUs of a server alone nothing can be judged.
    pub fn end(self, root: &Root, machine: &Machine, account: Account) -> (Account, Diagnosis) {
        if account.leaves_out_cpus() {
            return (account, Diagnosis::default());
        }
        let mut situation =
            self.surroundings.close(root, machine.clone(), Observation::default(), Some(account));
        judged(&mut situation)
    }

    /// What stays the same while the account grows on a screen.
    pub fn standing(self, root: &Root, machine: &Machine) -> Standing {
        let situation = self.surroundings.close(root, machine.clone(), Observation::default(), None);
        Standing { situation }
    }
}

/// Surroundings in which one account after the other is judged.
pub struct Standing {
    situation: Situation,
}

impl Standing {
    /// Judges an account, with how those who took most compete now.
    pub fn judge(&mut self, root: &Root, account: Account) -> (Account, Diagnosis) {
        if account.leaves_out_cpus() {
            return (account, Diagnosis::default());
        }
        self.situation.window_s = account.window_s;
        self.situation.account = Some(account);
        self.situation.read_tasks(root);
        judged(&mut self.situation)
    }
}

/// The account of a situation, taken out of it, and what it comes to.
pub fn judged(situation: &mut Situation) -> (Account, Diagnosis) {
    let diagnosis = diagnosis::judge(situation);
    (situation.account.take().unwrap_or_default(), diagnosis)
}
