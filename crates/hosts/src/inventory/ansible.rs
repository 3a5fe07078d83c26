//! An Ansible inventory in INI: groups of hosts, ranges of names, and variables of hosts and groups.
//!
//! A host's own variables take precedence over those of its groups, those of a group over those of the groups above it, and those of
//! `all` are below all. A host that stands on several lines is one: the variables of its later lines take precedence.

mod groups;
mod line;
mod pattern;
mod variables;

use std::collections::BTreeMap;
use std::rc::Rc;

use machine::{Class, Fault};

use self::groups::{ALL, GroupId, Groups, Order, UNGROUPED};
use self::line::Kind;
use self::variables::Variables;
use super::refusals::{MOST_HOSTS, located, too_many};
use crate::host::{HostSpec, Role};

/// Most places at which hosts are named, a range as often as it has names: a host may be in several groups.
const MOST_MENTIONS: usize = 10 * MOST_HOSTS;

/// # Errors
/// The inventory is malformed, a host makes no sense, or one is to run the server and to drive load; the fault names the line.
pub(super) fn parse(text: &str, file: &str) -> Result<Vec<HostSpec>, Fault> {
    let mut inventory = Inventory::new();
    for (at, line) in text.lines().enumerate() {
        inventory.take(line.trim(), at + 1).map_err(|fault| located(file, at + 1, fault))?;
    }
    inventory.hosts().map_err(|wrong| located(file, wrong.line, wrong.fault))
}

/// What is wrong, and the line (from 1) that it is seen by.
#[derive(Debug)]
struct Wrong {
    line: usize,
    fault: Fault,
}

/// One place at which a host is named.
struct Mention {
    group: GroupId,
    line: usize,
    /// Those of the line, which may name many hosts.
    variables: Rc<Variables>,
}

struct Host {
    name: String,
    /// At least one.
    mentions: Vec<Mention>,
}

struct Inventory {
    groups: Groups,
    hosts: Vec<Host>,
    by_name: BTreeMap<String, usize>,
    mentions: usize,
    /// What the lines are that follow.
    section: (GroupId, Kind),
}

impl Inventory {
    fn new() -> Self {
        Self {
            groups: Groups::new(),
            hosts: Vec::new(),
            by_name: BTreeMap::new(),
            mentions: 0,
            section: (UNGROUPED, Kind::Hosts),
        }
    }

    /// Takes a line, which is trimmed.
    fn take(&mut self, line: &str, number: usize) -> Result<(), Fault> {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return Ok(());
        }
        if let Some((name, kind)) = line::header(line)? {
            let group = self.groups.named(name, number)?;
            if kind != Kind::Variables {
                self.groups.define(group);
            }
            self.section = (group, kind);
            return Ok(());
        }
        match self.section {
            (group, Kind::Hosts) => self.take_hosts(group, line, number),
            (group, Kind::Variables) => {
                let (name, value) = line::assignment(line)?;
                self.groups.variables_mut(group).set(name, &value)
            }
            (group, Kind::Children) => {
                let child = self.groups.named(line::child(line)?, number)?;
                self.groups.put_below(child, group)
            }
        }
    }

    fn take_hosts(&mut self, group: GroupId, line: &str, number: usize) -> Result<(), Fault> {
        let (names, variables) = line::hosts(line)?;
        let variables = Rc::new(variables);
        self.mentions += names.len();
        for name in names {
            let at = self.by_name.get(&name).copied().unwrap_or(self.hosts.len());
            if at == self.hosts.len() {
                self.by_name.insert(name.clone(), at);
                self.hosts.push(Host { name, mentions: Vec::new() });
            }
            self.hosts[at].mentions.push(Mention { group, line: number, variables: Rc::clone(&variables) });
        }
        match self.hosts.len() > MOST_HOSTS || self.mentions > MOST_MENTIONS {
            true => Err(too_many("hosts")),
            false => Ok(()),
        }
    }

    fn hosts(&self) -> Result<Vec<HostSpec>, Wrong> {
        let order = self.groups.order()?;
        self.hosts.iter().map(|host| self.host(host, &order)).collect()
    }

    fn host(&self, host: &Host, order: &Order<'_>) -> Result<HostSpec, Wrong> {
        let own = host.mentions.iter().map(|mention| mention.group);
        let own: Vec<GroupId> = own.filter(|group| *group != ALL && *group != UNGROUPED).collect();
        let own = if own.is_empty() { vec![UNGROUPED] } else { own };
        let groups = order.with_those_above(own);
        let role = self.role(host, &groups)?;
        let of_lines = host.mentions.iter().rev().map(|mention| &*mention.variables);
        let of_groups = groups.iter().map(|group| self.groups.variables(*group));
        let layers: Vec<&Variables> = of_lines.chain(of_groups).collect();
        let spec = variables::host_spec(&host.name, role, &layers);
        let line = host.mentions.first().map_or(1, |mention| mention.line);
        spec.check().map_err(|fault| Wrong { line, fault })?;
        Ok(spec)
    }

    fn role(&self, host: &Host, groups: &[GroupId]) -> Result<Role, Wrong> {
        let group_of = |role: Role| {
            groups.iter().map(|group| self.groups.name(*group)).find(|name| role_of(name) == Some(role))
        };
        match (group_of(Role::Server), group_of(Role::Load)) {
            (Some(server), Some(load)) => {
                let cause =
                    format!("is in group {server}, which runs the server, and in {load}, which drives load");
                let remedy =
                    "take it out of one of them: what drives load must not share a host with the server";
                let fault = Fault::new(Class::Usage, format!("host {}", host.name), cause, remedy);
                let line = host.mentions.last().map_or(1, |mention| mention.line);
                Err(Wrong { line, fault })
            }
            (Some(_), None) => Ok(Role::Server),
            (None, _) => Ok(Role::Load),
        }
    }
}

/// What hosts of a group of this name do, where it says so.
fn role_of(group: &str) -> Option<Role> {
    match group {
        "load" | "clients" | "drivers" => Some(Role::Load),
        "server" | "servers" => Some(Role::Server),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
