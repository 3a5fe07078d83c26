//! The client's side of an LDAP connection.

use std::sync::Arc;

use machine::Fault;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::ber::{Reader, Unreadable};
use super::message::{self, Outcome, Said, Search};
use super::options::{LdapLoad, Operation};
use super::pattern::Pattern;
use super::result_code;
use crate::drive::{Dialogue, News};

/// Message numbers are positive and fit into 31 bits.
const LAST_ID: u32 = i32::MAX as u32;

/// The requests, worked out once for all connections.
#[derive(Debug)]
pub struct Plan {
    operation: Operation,
    bind: Option<(Pattern, Pattern)>,
    search: Option<Search>,
    entries: u64,
    expected_dn: Option<Pattern>,
    users: u64,
    seed: u64,
}

impl Plan {
    /// Of these options. Fails, naming the key, when one makes no sense.
    pub fn of(load: &LdapLoad) -> Result<Arc<Self>, Fault> {
        load.check_operation()?;
        let pattern = |text: &Option<String>| text.as_ref().map(|text| Pattern::new(text.as_bytes()));
        let search = match load.operation {
            Operation::Bind => None,
            Operation::Search | Operation::SearchBind => Some(Search {
                base: Pattern::new(load.base.as_bytes()),
                scope: load.scope,
                filter: load.parsed_filter()?,
                attributes: load.attributes.iter().map(|name| name.clone().into_bytes()).collect(),
            }),
        };
        let bind_dn = pattern(&load.bind_dn).unwrap_or_else(|| Pattern::new(b""));
        Ok(Arc::new(Self {
            operation: load.operation,
            bind: pattern(&load.password).map(|password| (bind_dn, password)),
            search,
            entries: load.entries_expected(),
            expected_dn: match load.operation {
                Operation::Search => pattern(&load.expect_dn),
                Operation::SearchBind => pattern(&load.bind_dn),
                Operation::Bind => None,
            },
            users: load.users,
            seed: load.seed,
        }))
    }
}

/// What is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nothing.
    Idle,
    /// The bind before the first search.
    Opening,
    /// A search; what of it has come so far.
    Searching { entries: u64, elsewhere: bool },
    /// The bind of a request.
    Binding,
    /// Nothing more can come of this connection.
    Over,
}

/// One connection's client: one request at a time, since a bind has to be alone (RFC 4511, 4.2.1).
#[derive(Debug)]
pub struct Ldap {
    plan: Arc<Plan>,
    random: ChaCha8Rng,
    step: Step,
    id: u32,
    /// Which entry the request is about.
    user: u64,
    /// The DN of the last entry that the search found.
    found_dn: Vec<u8>,
    /// The DN that it has to be.
    wanted_dn: Vec<u8>,
}

impl Ldap {
    /// The client of the connection with this number, which picks its entries differently from all others.
    pub fn new(plan: Arc<Plan>, connection: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
        random.set_stream(connection.into());
        let (found_dn, wanted_dn) = (Vec::new(), Vec::new());
        Self { plan, random, step: Step::Idle, id: 0, user: 0, found_dn, wanted_dn }
    }

    /// A number from 0 to below `users`; its bias is below users / 2^64.
    fn draw_user(&mut self) {
        let wide = u128::from(self.random.next_u64()) * u128::from(self.plan.users);
        self.user = (wide >> 64) as u64;
    }

    /// A bind by the options' DN, or by the one that the search found.
    fn bind(&mut self, out: &mut Vec<u8>) {
        self.id = following(self.id);
        let (id, user) = (self.id, self.user);
        let plan = &*self.plan;
        let Some((dn, password)) = &plan.bind else { return };
        let password = |out: &mut Vec<u8>| password.write(user, out);
        match plan.operation {
            Operation::SearchBind => {
                message::bind(out, id, |out| out.extend_from_slice(&self.found_dn), password)
            }
            _ => message::bind(out, id, |out| dn.write(user, out), password),
        }
    }

    /// Takes one message; none when it is part of an answer that goes on.
    fn take(&mut self, id: u32, said: Said<'_>, out: &mut Vec<u8>) -> Option<News> {
        if id == 0 {
            return Some(News::Over(unasked(&said)));
        }
        match (self.step, said) {
            (Step::Idle | Step::Over, said) => {
                Some(News::Over(format!("message {id} ({}) came though nothing was asked", words(&said))))
            }
            (Step::Opening, said) if id != self.id => Some(News::Over(self.of_another(id, &said))),
            (_, said) if id != self.id => Some(News::Wrong(0, self.of_another(id, &said))),
            (Step::Opening, Said::Bound(Outcome { code: 0, .. })) => Some(News::Ready),
            (Step::Opening, said) => {
                Some(News::Over(format!("bind before the first search: {}", words(&said))))
            }
            (Step::Binding, Said::Bound(Outcome { code: 0, .. })) => Some(News::Answered(0)),
            (Step::Binding, said) => {
                Some(News::Wrong(0, format!("bind as {}: {}", self.bound_dn(), words(&said))))
            }
            (Step::Searching { entries, elsewhere }, Said::Entry(dn)) => {
                self.found_dn.clear();
                self.found_dn.extend_from_slice(dn);
                self.step = Step::Searching { entries: entries + 1, elsewhere };
                None
            }
            (Step::Searching { entries, .. }, Said::Reference) => {
                self.step = Step::Searching { entries, elsewhere: true };
                None
            }
            (Step::Searching { entries, elsewhere }, Said::Searched(outcome)) => {
                self.searched(entries, elsewhere, outcome, out)
            }
            (Step::Searching { .. }, said) => Some(News::Wrong(0, format!("search: {}", words(&said)))),
        }
    }

    fn of_another(&self, id: u32, said: &Said<'_>) -> String {
        format!("message {id} ({}) came, where request {} is out", words(said), self.id)
    }

    fn searched(
        &mut self,
        entries: u64,
        elsewhere: bool,
        outcome: Outcome<'_>,
        out: &mut Vec<u8>,
    ) -> Option<News> {
        let wrong = |why: String| Some(News::Wrong(0, why));
        if outcome.code != 0 {
            return wrong(format!("search: {}", result_code::words(outcome.code, outcome.said)));
        }
        if elsewhere {
            return wrong("search: the server refers to another server for more".into());
        }
        if entries != self.plan.entries {
            return wrong(format!("search: {entries} entries, where {} have to be", self.plan.entries));
        }
        if let Some(expected) = &self.plan.expected_dn {
            self.wanted_dn.clear();
            expected.write(self.user, &mut self.wanted_dn);
            if !self.wanted_dn.eq_ignore_ascii_case(&self.found_dn) {
                let of = |dn: &[u8]| String::from_utf8_lossy(dn).into_owned();
                return wrong(format!(
                    "search: found {}, where {} has to be",
                    of(&self.found_dn),
                    of(&self.wanted_dn)
                ));
            }
        }
        match self.plan.operation {
            Operation::SearchBind => {
                self.step = Step::Binding;
                self.bind(out);
                None
            }
            _ => Some(News::Answered(0)),
        }
    }

    fn bound_dn(&self) -> String {
        let dn = match (self.plan.operation, &self.plan.bind) {
            (Operation::SearchBind, _) | (_, None) => self.found_dn.clone(),
            (_, Some((dn, _))) => dn.filled(self.user),
        };
        String::from_utf8_lossy(&dn).into_owned()
    }
}

/// The message number after this one.
fn following(id: u32) -> u32 {
    id % LAST_ID + 1
}

fn words(said: &Said<'_>) -> String {
    match said {
        Said::Bound(outcome) | Said::Extended(outcome) => result_code::words(outcome.code, outcome.said),
        Said::Searched(outcome) => {
            format!("end of a search, {}", result_code::words(outcome.code, outcome.said))
        }
        Said::Entry(dn) => format!("entry {}", String::from_utf8_lossy(dn)),
        Said::Reference => "a reference to another server".into(),
        Said::Other(tag) => format!("an operation that does not belong here (tag {tag:#04x})"),
    }
}

/// A message that belongs to no request: the notice of disconnection is the only one that is known.
fn unasked(said: &Said<'_>) -> String {
    format!("the server ends the connection: {}", words(said))
}

impl Dialogue for Ldap {
    fn open(&mut self, out: &mut Vec<u8>) -> bool {
        (self.id, self.step) = (0, Step::Idle);
        if self.plan.operation != Operation::Search || self.plan.bind.is_none() {
            return true;
        }
        self.draw_user();
        self.step = Step::Opening;
        self.bind(out);
        false
    }

    fn ask(&mut self, _lane: u32, _number: u64, out: &mut Vec<u8>) {
        self.draw_user();
        match &self.plan.search {
            None => {
                self.step = Step::Binding;
                self.bind(out);
            }
            Some(search) => {
                self.id = following(self.id);
                message::search(out, self.id, search, self.user);
                self.found_dn.clear();
                self.step = Step::Searching { entries: 0, elsewhere: false };
            }
        }
    }

    fn hear(&mut self, came: &[u8], out: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        let mut reader = Reader(came);
        while self.step != Step::Over && !reader.0.is_empty() {
            let item = match message::read(&mut reader) {
                Ok((id, said)) => self.take(id, said, out),
                Err(Unreadable::Torn) => return came.len() - reader.0.len(),
                Err(Unreadable::Malformed) => Some(News::Over("what came is not an LDAP message".into())),
            };
            let Some(item) = item else { continue };
            self.step = match item {
                News::Ready | News::Answered(_) => Step::Idle,
                // What else comes belongs to nobody: the engine makes the connection anew.
                News::Wrong(..) | News::Refused(_) | News::Over(_) => Step::Over,
            };
            news.push(item);
        }
        came.len()
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        message::unbind(out, following(self.id));
    }
}

#[cfg(test)]
mod tests;
