//! The verdict on an account, by the rules of `pinwise diagnose`.

use advise::diagnosis::{self, Diagnosis};
use machine::{Machine, Root};
use probe::account::Account;
use probe::{Observation, RequestLookBack, Situation, Surroundings};

use super::requests::{self, Requested};
use super::target::Watched;

/// What surrounds an account while it is taken, and is counted beside it.
pub struct Judging {
    surroundings: Surroundings,
    requests: Requested,
}

impl Judging {
    /// Reads what must be read before the window, a pass over /proc, and gets ready to count requests.
    pub fn begin(root: &Root, watched: &Watched) -> Self {
        let surroundings = Surroundings::read(root, watched.asked(), watched.subject(), watched.pids());
        let requests = Requested::prepare(root, watched, surroundings.connections());
        Self { surroundings, requests }
    }

    /// Counts requests from now on.
    pub fn start(&mut self) {
        self.requests.start();
    }

    /// Counts them no longer.
    pub fn stop(&mut self) {
        self.requests.stop();
    }

    /// Reads the rest after the window, and judges. Of some CPUs of a server alone nothing can be judged.
    pub fn end(self, root: &Root, machine: &Machine, account: Account) -> (Account, Diagnosis) {
        if account.leaves_out_cpus() {
            return (account, of_some_cpus());
        }
        let Self { surroundings, requests } = self;
        let may_have = requests.may_have();
        let mut situation = surroundings.close(root, machine.clone(), Observation::default(), Some(account));
        requests.end(&mut situation);
        let (account, diagnosis) = judged(&mut situation);
        (with_missing_requests(account, &diagnosis, may_have), diagnosis)
    }

    /// What stays the same while the account grows on a screen, which looks back over so many readings. Requests are counted from now on.
    pub fn standing(self, root: &Root, machine: &Machine, readings: usize) -> Standing {
        let Self { surroundings, mut requests } = self;
        let mut situation = surroundings.close(root, machine.clone(), Observation::default(), None);
        if requests.are_counted() {
            // How many connections wait to be accepted is known of the beginning alone, which is past when the screen is looked at.
            situation.connections.listeners.clear();
        }
        situation.missing.extend(requests.refused().cloned());
        requests.start();
        Standing { situation, requests, seen: RequestLookBack::over(readings) }
    }
}

/// Surroundings in which one account after the other is judged.
pub struct Standing {
    situation: Situation,
    requests: Requested,
    seen: RequestLookBack,
}

impl Standing {
    /// Takes in the requests that came since the last reading: with each reading of the account.
    pub fn read(&mut self) {
        if let Some(requests) = self.requests.take() {
            self.seen.add(requests);
        }
    }

    /// Judges an account, of the last readings or of `all` since the start, with how those who took most compete now.
    pub fn judge(&mut self, root: &Root, account: Account, all: bool) -> (Account, Diagnosis) {
        if account.leaves_out_cpus() {
            return (account, of_some_cpus());
        }
        let requests = || if all { self.seen.total() } else { self.seen.now() };
        self.situation.requests = self.requests.are_counted().then(requests);
        self.situation.window_s = account.window_s;
        self.situation.account = Some(account);
        self.situation.read_tasks(root);
        let (account, diagnosis) = judged(&mut self.situation);
        (with_missing_requests(account, &diagnosis, self.requests.may_have()), diagnosis)
    }
}

/// Of some CPUs of a server nothing is judged, and its requests are not counted.
fn of_some_cpus() -> Diagnosis {
    Diagnosis { requests_missing: Some(requests::of_some_cpus()), ..Diagnosis::default() }
}

/// The account with what is not known of requests beside what is not known of itself: a sheet lists that. A server that does not listen
/// has no requests to miss.
fn with_missing_requests(mut account: Account, diagnosis: &Diagnosis, may_have: bool) -> Account {
    let unseen = diagnosis.requests_missing.iter().filter(|_| may_have);
    let in_part = diagnosis.requests.iter().flat_map(|requests| &requests.missing);
    account.missing.extend(unseen.chain(in_part).cloned());
    account
}

/// The account of a situation, taken out of it, and what it comes to.
pub fn judged(situation: &mut Situation) -> (Account, Diagnosis) {
    let diagnosis = diagnosis::judge(situation);
    (situation.account.take().unwrap_or_default(), diagnosis)
}

#[cfg(test)]
mod tests {
    use advise::diagnosis::ServerRequests;
    use machine::Missing;

    use super::*;

    fn facts(diagnosis: &Diagnosis, may_have: bool) -> Vec<String> {
        let account = with_missing_requests(Account::default(), diagnosis, may_have);
        account.missing.into_iter().map(|missing| missing.why).collect()
    }

    #[test]
    fn what_is_not_known_of_requests_is_listed_for_servers_that_may_have_some() {
        let unseen = Diagnosis {
            requests_missing: Some(Missing::new("requests in the kernel", "6.1")),
            ..Diagnosis::default()
        };
        assert_eq!((facts(&unseen, true), facts(&unseen, false)), (vec!["6.1".into()], Vec::new()));
        let missing = vec![Missing::new("requests of some connections", "no room")];
        let seen = Diagnosis {
            requests: Some(ServerRequests { window_s: 1.0, ports: Vec::new(), missing }),
            ..Diagnosis::default()
        };
        assert_eq!(facts(&seen, true), ["no room"]);
        assert_eq!(facts(&Diagnosis::default(), true), [""; 0]);
        assert!(of_some_cpus().requests_missing.is_some_and(|missing| missing.why.contains("--cpu")));
    }
}
