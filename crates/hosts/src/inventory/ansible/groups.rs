//! The groups of an inventory: which is above which, and whose variables take precedence.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use machine::{Class, Fault};

use super::super::refusals::excerpt;
use super::Wrong;
use super::variables::Variables;

/// Most groups of an inventory.
const MOST_GROUPS: usize = 1000;

/// Most lines that put a group below another.
const MOST_CHILDREN: usize = 10_000;

/// A group, by its place among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupId(usize);

/// The group of all hosts, which is above all others.
pub(super) const ALL: GroupId = GroupId(0);

/// The group of hosts that are in no other.
pub(super) const UNGROUPED: GroupId = GroupId(1);

#[derive(Debug)]
struct Group {
    name: String,
    /// Where it is named first.
    line: usize,
    /// Whether it has a section of hosts or children; otherwise its name may be misspelled.
    is_defined: bool,
    variables: Variables,
    /// Those right above it, `all` apart.
    parents: BTreeSet<GroupId>,
}

#[derive(Debug)]
pub(super) struct Groups {
    groups: Vec<Group>,
    by_name: BTreeMap<String, GroupId>,
    children: usize,
}

impl Groups {
    /// The two that every inventory has.
    pub(super) fn new() -> Self {
        let mut groups = Self { groups: Vec::new(), by_name: BTreeMap::new(), children: 0 };
        for name in ["all", "ungrouped"] {
            let id = groups.add(name, 1);
            groups.define(id);
        }
        groups
    }

    fn add(&mut self, name: &str, line: usize) -> GroupId {
        let id = GroupId(self.groups.len());
        self.by_name.insert(name.to_string(), id);
        self.groups.push(Group {
            name: name.to_string(),
            line,
            is_defined: false,
            variables: Variables::default(),
            parents: BTreeSet::new(),
        });
        id
    }

    /// The group of this name, which `line` names.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn named(&mut self, name: &str, line: usize) -> Result<GroupId, Fault> {
        if let Some(id) = self.by_name.get(name) {
            return Ok(*id);
        }
        if self.groups.len() >= MOST_GROUPS {
            return Err(too_many(name, &format!("there are more than {MOST_GROUPS} groups")));
        }
        Ok(self.add(name, line))
    }

    /// It has a section of its own.
    pub(super) fn define(&mut self, id: GroupId) {
        self.groups[id.0].is_defined = true;
    }

    pub(super) fn name(&self, id: GroupId) -> &str {
        &self.groups[id.0].name
    }

    pub(super) fn variables(&self, id: GroupId) -> &Variables {
        &self.groups[id.0].variables
    }

    pub(super) fn variables_mut(&mut self, id: GroupId) -> &mut Variables {
        &mut self.groups[id.0].variables
    }

    /// Puts a group below another.
    ///
    /// # Errors
    /// It is `all`, or there are too many.
    pub(super) fn put_below(&mut self, child: GroupId, parent: GroupId) -> Result<(), Fault> {
        if child == ALL {
            let remedy = "leave it out of the children of other groups";
            return Err(Fault::new(Class::Usage, "group all", "is above all others", remedy));
        }
        self.children += 1;
        if self.children > MOST_CHILDREN {
            let cause = format!("more than {MOST_CHILDREN} lines put a group below another");
            return Err(too_many(self.name(child), &cause));
        }
        if parent != ALL {
            self.groups[child.0].parents.insert(parent);
        }
        Ok(())
    }

    /// # Errors
    /// A group has no section of its own, or is below itself.
    pub(super) fn order(&self) -> Result<Order<'_>, Wrong> {
        if let Some(group) = self.groups.iter().find(|group| !group.is_defined) {
            let name = excerpt(&group.name);
            let remedy = format!("correct the name, or add [{name}] with its hosts");
            let object = format!("group {name}");
            let fault = Fault::new(Class::Usage, object, "has neither hosts nor children", remedy);
            return Err(Wrong { line: group.line, fault });
        }
        let depths = self.depths()?;
        let mut ids: Vec<usize> = (0..self.groups.len()).collect();
        ids.sort_by_key(|&at| {
            let group = &self.groups[at];
            (depths[at], group.variables.group_priority(), group.name.as_str())
        });
        let mut ranks = vec![0; ids.len()];
        for (rank, at) in ids.into_iter().enumerate() {
            ranks[at] = rank;
        }
        Ok(Order { groups: self, ranks })
    }

    /// How far each is below `all`, by the longest way.
    fn depths(&self) -> Result<Vec<usize>, Wrong> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.groups.len()];
        for (at, group) in self.groups.iter().enumerate() {
            for parent in &group.parents {
                children[parent.0].push(at);
            }
        }
        let mut depths = vec![1; self.groups.len()];
        depths[ALL.0] = 0;
        // A group's is known once those of all its parents are: of what is in a ring, never.
        let mut unknown_parents: Vec<usize> = self.groups.iter().map(|group| group.parents.len()).collect();
        let mut known: Vec<usize> = (0..self.groups.len()).filter(|&at| unknown_parents[at] == 0).collect();
        while let Some(at) = known.pop() {
            for &child in &children[at] {
                depths[child] = depths[child].max(depths[at] + 1);
                unknown_parents[child] -= 1;
                if unknown_parents[child] == 0 {
                    known.push(child);
                }
            }
        }
        match unknown_parents.iter().position(|&unknown| unknown > 0) {
            None => Ok(depths),
            Some(at) => Err(self.ring(at, &unknown_parents)),
        }
    }

    /// A group of a ring, found upwards from one that is in it or below it.
    fn ring(&self, from: usize, unknown_parents: &[usize]) -> Wrong {
        let above = |at: usize| {
            self.groups[at].parents.iter().map(|parent| parent.0).find(|&parent| unknown_parents[parent] > 0)
        };
        // After as many steps as there are groups it goes round the ring.
        let within = (0..self.groups.len()).fold(from, |at, _| above(at).unwrap_or(at));
        let Group { name, line, .. } = &self.groups[within];
        let remedy = "take it out of the children of one of the groups below it";
        let object = format!("group {}", excerpt(name));
        Wrong { line: *line, fault: Fault::new(Class::Usage, object, "is below itself", remedy) }
    }
}

fn too_many(group: &str, cause: &str) -> Fault {
    let remedy = "write a file of the hosts of this study alone";
    Fault::new(Class::Usage, format!("group {}", excerpt(group)), cause, remedy)
}

/// The groups in the order of their precedence: one further below `all` before one above it, then by the variable
/// `ansible_group_priority`, then the later name before the earlier.
#[derive(Debug)]
pub(super) struct Order<'a> {
    groups: &'a Groups,
    /// Of each group; the highest takes precedence.
    ranks: Vec<usize>,
}

impl Order<'_> {
    /// These groups and all above them, the one that takes precedence first.
    pub(super) fn with_those_above(&self, own: Vec<GroupId>) -> Vec<GroupId> {
        let mut is_seen = vec![false; self.groups.groups.len()];
        is_seen[ALL.0] = true;
        let mut all = vec![ALL];
        let mut open = own;
        while let Some(id) = open.pop() {
            if !is_seen[id.0] {
                is_seen[id.0] = true;
                all.push(id);
                open.extend(&self.groups.groups[id.0].parents);
            }
        }
        all.sort_by_key(|id| Reverse(self.ranks[id.0]));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of these names, the second of each pair below the first.
    fn groups(pairs: &[(&str, &str)]) -> Groups {
        let mut groups = Groups::new();
        for (parent, child) in pairs {
            let [parent, child] = [parent, child].map(|name| groups.named(name, 7).unwrap());
            groups.define(parent);
            groups.define(child);
            groups.put_below(child, parent).unwrap();
        }
        groups
    }

    fn of_host(groups: &mut Groups, own: &[&str]) -> Vec<String> {
        let own = own.iter().map(|name| groups.named(name, 1).unwrap()).collect();
        let above = groups.order().unwrap().with_those_above(own);
        above.into_iter().map(|id| groups.name(id).to_string()).collect()
    }

    #[test]
    fn a_group_takes_precedence_over_those_above_it_and_over_earlier_names() {
        let mut some = groups(&[("lab", "load"), ("load", "fast"), ("lab", "fast"), ("all", "rack")]);
        assert_eq!(of_host(&mut some, &["fast"]), ["fast", "load", "lab", "all"]);
        assert_eq!(of_host(&mut some, &["rack", "lab"]), ["rack", "lab", "all"]);
        assert_eq!(of_host(&mut some, &[]), ["all"]);
        let lab = some.named("lab", 1).unwrap();
        some.variables_mut(lab).set("ansible_group_priority", "10").unwrap();
        assert_eq!(of_host(&mut some, &["rack", "lab"]), ["lab", "rack", "all"]);
        assert_eq!(
            of_host(&mut some, &["load", "rack"]),
            ["load", "lab", "rack", "all"],
            "deeper comes first"
        );
    }

    #[test]
    fn a_group_below_itself_is_named() {
        let why = |groups: Groups| {
            let Err(Wrong { line, fault }) = groups.order() else { panic!("it has an order") };
            assert_eq!(line, 7);
            fault.to_string()
        };
        assert!(why(groups(&[("a", "a")])).contains("group a: is below itself"));
        let found = why(groups(&[("b", "c"), ("c", "b"), ("c", "aside"), ("aside", "below")]));
        assert!(found.contains("group b:") || found.contains("group c:"), "{found}");
        let mut groups = Groups::new();
        let lab = groups.named("lab", 1).unwrap();
        assert!(groups.put_below(ALL, lab).unwrap_err().to_string().contains("group all"));
    }

    #[test]
    fn a_group_without_a_section_is_taken_for_a_misspelled_one() {
        let mut groups = Groups::new();
        groups.named("laod", 4).unwrap();
        let Err(Wrong { line, fault }) = groups.order() else { panic!("it has an order") };
        assert!(line == 4 && fault.to_string().contains("group laod"), "{fault}");
    }

    #[test]
    fn groups_beyond_all_reason_are_refused_and_a_long_chain_is_walked() {
        let mut groups = Groups::new();
        let mut above = UNGROUPED;
        for number in 2..MOST_GROUPS {
            let id = groups.named(&format!("g{number}"), 1).unwrap();
            groups.define(id);
            groups.put_below(id, above).unwrap();
            above = id;
        }
        assert_eq!(groups.order().unwrap().with_those_above(vec![above]).len(), MOST_GROUPS);
        assert!(groups.named("one more", 1).unwrap_err().to_string().contains("more than 1000"));
        assert!((0..=MOST_CHILDREN).any(|_| groups.put_below(above, UNGROUPED).is_err()));
    }
}
