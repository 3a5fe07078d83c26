//! What is known of a fleet so far, while several threads read its hosts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use advise::environment::Captured;
use advise::fleet::{Fleet, Grouper};
use indicatif::ProgressBar;
use machine::Fault;
use report::fleet::NotRead;

use crate::{notes, progress_bar};

/// Most failures that are quoted where no host could be read.
const MOST_QUOTED: usize = 5;

/// The hosts so far, with a bar of them where stderr is a terminal. No machine is kept once it was taken.
pub(super) struct Gathered {
    grouper: Mutex<Grouper>,
    not_read: Mutex<Vec<NotRead>>,
    hosts: usize,
    bar: ProgressBar,
}

impl Gathered {
    /// Nothing yet of so many hosts.
    pub(super) fn begin(hosts: usize) -> Self {
        let template = "{bar:30} {pos}/{len} hosts, {eta} left";
        Self {
            grouper: Mutex::default(),
            not_read: Mutex::default(),
            hosts,
            bar: progress_bar::bar(template, hosts as u64, notes::is_terminal()),
        }
    }

    /// Takes a host, or why it could not be read.
    pub(super) fn take(&self, host: &str, read: Result<Captured, Fault>) {
        match read {
            Ok(Captured { machine, processor }) => {
                locked(&self.grouper).add_with(host, &machine, &processor);
            }
            Err(fault) => locked(&self.not_read).push(NotRead { host: host.to_string(), fault }),
        }
        self.bar.inc(1);
    }

    /// The fleet, and the hosts that could not be read, in order.
    ///
    /// # Errors
    /// None could be read; the class is that of the first failure.
    pub(super) fn finish(self) -> Result<(Fleet, Vec<NotRead>), Fault> {
        self.bar.finish_and_clear();
        let mut not_read = self.not_read.into_inner().unwrap_or_else(PoisonError::into_inner);
        not_read.sort_by(|a, b| a.host.cmp(&b.host));
        if let Some(first) = not_read.first().filter(|_| not_read.len() == self.hosts) {
            let mut cause =
                format!("none of {} could be read", machine::wording::counted(self.hosts, "host"));
            for one in not_read.iter().take(MOST_QUOTED) {
                cause.push_str(&format!("\n{}", one.fault));
            }
            return Err(Fault::new(first.fault.class, "fleet", cause, ""));
        }
        let grouper = self.grouper.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((grouper.finish(), not_read))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use machine::Class;

    use super::*;
    use crate::verbs::compare::machine_at;

    #[test]
    fn a_fleet_fails_where_no_host_was_read_and_not_before() {
        let fault = || Fault::new(Class::Storage, "captures/b.tar.zst", "cut off", "capture it again");
        let gathered = Gathered::begin(2);
        ["b", "a"].into_iter().for_each(|host| gathered.take(host, Err(fault())));
        let refused = gathered.finish().unwrap_err();
        assert_eq!(refused.class, Class::Storage);
        assert!(refused.to_string().contains("none of 2 hosts") && refused.to_string().contains("cut off"));

        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/corsair");
        let gathered = Gathered::begin(2);
        gathered.take("b", Err(fault()));
        gathered.take("a", machine_at(Path::new(path)));
        let (fleet, not_read) = gathered.finish().unwrap();
        assert_eq!(fleet.shapes.iter().map(|shape| &shape.hosts).collect::<Vec<_>>(), [&["a".to_string()]]);
        assert_eq!((not_read.len(), not_read[0].host.as_str()), (1, "b"));
    }
}
