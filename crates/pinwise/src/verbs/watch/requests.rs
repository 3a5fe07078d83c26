//! Requests to the server that is watched, counted by the same programs as those of `pinwise diagnose`.

use machine::processes::Connections;
use machine::{FactId, Missing, Root, processes};
use probe::Situation;
use probe::requests::{CountingRequests, Listening, Requests};

use super::target::Watched;

/// The fact that is missing where requests are not seen.
const FACT: &str = "requests in the kernel";

/// Requests while they are counted.
pub(super) struct Requested {
    /// `None` where there is nothing to count.
    counting: Option<Result<CountingRequests, Missing>>,
    /// Whether there may be requests to miss.
    may_have: bool,
}

impl Requested {
    /// Gets ready to count what comes to where the server listens. Nothing is counted of threads, of some CPUs, and of all CPUs together:
    /// requests are those of a whole server.
    pub(super) fn prepare(root: &Root, watched: &Watched, connections: &Connections) -> Self {
        let (is_whole, listening) = (is_whole(watched), Listening::of(connections));
        let first = watched.pids().first().filter(|_| is_whole && !listening.is_empty());
        Self {
            counting: first.map(|first| CountingRequests::prepare(root, *first, &listening)),
            may_have: is_whole && may_have(connections),
        }
    }

    /// Counts from now on.
    pub(super) fn start(&mut self) {
        if let Some(Ok(counting)) = &mut self.counting {
            counting.start();
        }
    }

    /// Counts no longer.
    pub(super) fn stop(&mut self) {
        if let Some(Ok(counting)) = &mut self.counting {
            counting.stop();
        }
    }

    /// What came since the last call, or since the start, without clients; counting goes on. `None` where nothing is counted.
    pub(super) fn take(&mut self) -> Option<Requests> {
        match &mut self.counting {
            Some(Ok(counting)) => Some(counting.take()),
            Some(Err(_)) | None => None,
        }
    }

    /// Adds what was counted between start and stop, or why it was not.
    pub(super) fn end(self, situation: &mut Situation) {
        match self.counting {
            Some(Ok(counting)) => situation.requests = Some(counting.end()),
            Some(Err(missing)) => situation.missing.push(missing),
            None => {}
        }
    }

    /// Whether they are counted.
    pub(super) fn are_counted(&self) -> bool {
        matches!(self.counting, Some(Ok(_)))
    }

    /// Why the kernel does not count them.
    pub(super) fn refused(&self) -> Option<&Missing> {
        self.counting.as_ref()?.as_ref().err()
    }

    /// Whether the server may have requests, so that they are missing where they are not seen: it listens, or it could not be seen whether
    /// it does.
    pub(super) fn may_have(&self) -> bool {
        self.may_have
    }
}

/// That requests are not seen for the reason that nothing is in the kernel; `None` where there are none to miss.
pub(super) fn not_counted(root: &Root, watched: &Watched, why: &Missing) -> Option<Missing> {
    let is_missed = is_whole(watched) && may_have(&processes::connections(root, watched.pids()));
    is_missed.then(|| Missing::new(FACT, &why.why).identified(FactId::Requests))
}

/// Whether a server is watched, on all CPUs.
fn is_whole(watched: &Watched) -> bool {
    watched.asked().is_some() && watched.cpus().is_none()
}

/// Whether there may be requests to a server with these connections: it listens, or it could not be seen whether it does.
fn may_have(connections: &Connections) -> bool {
    !Listening::of(connections).is_empty() || !connections.missing.is_empty()
}

/// That requests are not seen with some CPUs only.
pub(super) fn of_some_cpus() -> Missing {
    let why = "they are counted for the server on all its CPUs: leave --cpu out";
    Missing::new(FACT, why).identified(FactId::Requests)
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    /// A process that listens on port 8080, or on none.
    fn host(listens: bool) -> Root {
        let line = " 0: 0100007F:1F90 00000000:0000 0A 0:00000000 0:0 0 0 0 10 1 0 100 0 0 10 0\n";
        let table = format!("head\n{}", if listens { line } else { "" });
        let tree = Tree::new()
            .file("/proc/7/status", "Name:\tx\nTgid:\t7\nPid:\t7\n")
            .file("/proc/7/stat", "7 (x) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9\n")
            .file("/proc/7/net/tcp", table)
            .link("/proc/7/fd/1", "socket:[10]");
        Root::from_tree(tree)
    }

    fn missed(root: &Root, watched: &Watched) -> Option<String> {
        let why = Missing::new("kernel events", "run it as root");
        not_counted(root, watched, &why).map(|missing| missing.why)
    }

    #[test]
    fn requests_of_a_whole_server_that_listens_are_missed_and_no_others() {
        let server = Watched::find(&host(true), Some("7"), &[]).unwrap();
        assert_eq!(missed(&host(true), &server), Some("run it as root".into()));
        assert_eq!(missed(&host(false), &server), None, "it does not listen");
        let on_one = server.on(Some("1".parse().unwrap()));
        assert_eq!(missed(&host(true), &on_one), None, "they are those of all CPUs");
        let thread = Watched::find(&host(true), None, &[7]).unwrap();
        let everything = Watched::find(&host(true), None, &[]).unwrap();
        assert_eq!((missed(&host(true), &thread), missed(&host(true), &everything)), (None, None));
    }

    #[test]
    fn nothing_is_prepared_where_there_is_nothing_to_count() {
        let root = host(false);
        let watched = Watched::find(&root, Some("7"), &[]).unwrap();
        let mut none = Requested::prepare(&root, &watched, &processes::connections(&root, &[7]));
        none.start();
        assert!(none.take().is_none() && !none.are_counted() && none.refused().is_none());
        assert!(!none.may_have());
        let mut situation = Situation::default();
        none.stop();
        none.end(&mut situation);
        assert_eq!(situation, Situation::default());
    }

    #[test]
    fn why_requests_are_not_counted_is_handed_on() {
        // Without a network namespace there is nothing by which the kernel knows the server.
        let root = host(true);
        let watched = Watched::find(&root, Some("7"), &[]).unwrap();
        let refused = Requested::prepare(&root, &watched, &processes::connections(&root, &[7]));
        assert!(refused.may_have() && refused.refused().is_some() && !refused.are_counted());
        let mut situation = Situation::default();
        refused.end(&mut situation);
        assert!(situation.missing.iter().any(|missing| missing.is(&FactId::Requests)), "{situation:?}");
    }
}
