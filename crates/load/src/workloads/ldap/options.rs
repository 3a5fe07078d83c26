//! What the ldap load is given in a recipe.

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::pattern::PLACEHOLDER;
use crate::drive::{Keys, driven_load};

/// What a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A simple bind as `bind_dn` with `password`: an authentication.
    #[default]
    Bind,
    /// A search for the one entry that `filter` matches, then a simple bind as what was found, with `password`: an authentication of
    /// somebody who gives a name and not a DN. Two exchanges, one request. The search runs as whoever the connection is bound as by
    /// then: nobody on a fresh one, else the entry of the request before.
    SearchBind,
    /// A search by `filter`, which has to find `entries` entries.
    Search,
}

/// How far below `base` a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The entry itself.
    Base,
    /// The entries right below it.
    One,
    /// The entry and all below it.
    #[default]
    Subtree,
}

impl Scope {
    /// As the protocol counts them.
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Base => 0,
            Self::One => 1,
            Self::Subtree => 2,
        }
    }
}

driven_load! {
    /// The ldap load of a recipe. Keys that an operation does not need are not looked at, so that a study can vary it. In `bind_dn`, `password`, `base`, `filter` and `expect_dn` `{n}` stands for a number below `users` that
    /// is drawn for each request anew.
    pub struct LdapLoad {
        id: "ldap",
        connections: 4,
        keep_alive: true,
        /// What a request is.
        pub operation: Operation = Operation::Bind,
        /// The DN to bind as. With operation `search-bind`, where given: the one that the search has to find. With `search`: bound once on
        /// each connection before its first search; none to stay nobody. In comparisons case does not matter.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub bind_dn: Option<String> = None,
        /// The password of a bind. No list of processes, ledger or report shows it; a case keeps it in its `secrets.toml`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub password: Option<String> = None,
        /// How many entries take turns: `{n}` is 0 to this less one, uniform, by `seed`.
        pub users: u64 = 1,
        /// Where a search begins.
        pub base: String = String::new(),
        /// How far below it goes.
        pub scope: Scope = Scope::Subtree,
        /// What a search looks for, as in ldapsearch(1): equality, presence, substrings, and, or, not.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub filter: Option<String> = None,
        /// Which attributes a search asks for; `1.1` for none, an empty list for all.
        pub attributes: Vec<String> = vec!["1.1".into()],
        /// How many entries a search has to find; absent: 1 with operation `search-bind`, else 0, as when a filter that nothing matches
        /// makes the server look at every entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub entries: Option<u64> = None,
        /// With operation `search`: the DN that the one entry found has to have.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub expect_dn: Option<String> = None,
    }
}

fn wrong<T>(key: &str, cause: impl std::fmt::Display, remedy: &str) -> Result<T, Fault> {
    Err(Fault::new(Class::Usage, format!("ldap load: {key}"), cause, remedy))
}

impl LdapLoad {
    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        self.pace().check("ldap")?;
        self.check_operation()
    }

    /// As [`check`](Self::check), for the keys of the protocol.
    pub(super) fn check_operation(&self) -> Result<(), Fault> {
        if self.users == 0 {
            return wrong("users", "nobody can be asked about", "give at least 1");
        }
        match self.operation {
            Operation::Bind => self.check_credentials(),
            Operation::SearchBind => {
                if self.entries_expected() != 1 {
                    return wrong("entries", "search-bind authenticates the one entry found", "leave it out");
                }
                self.check_password()?;
                self.parsed_filter().map(drop)
            }
            Operation::Search => {
                if self.bind_dn.is_some() || self.password.is_some() {
                    self.check_credentials()?;
                }
                if self.expect_dn.is_some() && self.entries_expected() != 1 {
                    return wrong(
                        "expect_dn",
                        "only one entry can have it",
                        "set entries = 1, or leave it out",
                    );
                }
                self.parsed_filter().map(drop)
            }
        }
    }

    fn check_credentials(&self) -> Result<(), Fault> {
        if self.bind_dn.as_ref().is_none_or(String::is_empty) {
            return wrong("bind_dn", "without a DN nobody is authenticated", "name the entry to bind as");
        }
        self.check_password()
    }

    fn check_password(&self) -> Result<(), Fault> {
        match self.password.as_ref().is_none_or(String::is_empty) {
            // RFC 4513, 5.1.2: servers may answer such a bind with success and look at nothing.
            true => wrong("password", "a bind without one authenticates nobody", "give the entry's password"),
            false => Ok(()),
        }
    }

    pub(super) fn parsed_filter(&self) -> Result<Filter, Fault> {
        let Some(text) = &self.filter else {
            return wrong(
                "filter",
                "none is given",
                &format!("say what to search for, such as (uid=user{PLACEHOLDER})"),
            );
        };
        Filter::parse(text).or_else(|why| wrong("filter", why, "correct it: see ldapsearch(1) and RFC 4515"))
    }

    pub(super) fn entries_expected(&self) -> u64 {
        self.entries.unwrap_or(u64::from(self.operation == Operation::SearchBind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> LdapLoad {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn sensible_options_are_taken() {
        for text in [
            "bind_dn = 'uid=user{n},dc=example,dc=com'\npassword = 'secret{n}'\nusers = 100000",
            "operation = 'search-bind'\nbase = 'dc=example,dc=com'\nfilter = '(uid=user{n})'\npassword = 'secret{n}'",
            "operation = 'search'\nfilter = '(description=none)'\nscope = 'one'",
            "operation = 'search'\nfilter = '(uid=a)'\nentries = 1\nexpect_dn = 'uid=a'\nbind_dn = 'cn=a'\npassword = 'b'",
        ] {
            of(text).check().unwrap();
            assert_eq!(of(&toml::to_string(&of(text)).unwrap()), of(text));
        }
    }

    #[test]
    fn senseless_options_are_named() {
        for (text, key) in [
            ("password = 'a'", "bind_dn"),
            ("bind_dn = 'cn=a'", "password"),
            ("bind_dn = 'cn=a'\npassword = ''", "password"),
            ("bind_dn = 'cn=a'\npassword = 'b'\nusers = 0", "users"),
            ("bind_dn = 'cn=a'\npassword = 'b'\nconnections = 0", "connections"),
            ("operation = 'search'", "filter"),
            ("operation = 'search'\nfilter = 'uid=a'", "filter"),
            ("operation = 'search'\nfilter = '(a=b)'\nexpect_dn = 'cn=a'", "expect_dn"),
            ("operation = 'search'\nfilter = '(a=b)'\npassword = 'b'", "bind_dn"),
            ("operation = 'search-bind'\nfilter = '(a=b)'", "password"),
            ("operation = 'search-bind'\nfilter = '(a=b)'\npassword = 'b'\nentries = 2", "entries"),
        ] {
            let why = of(text).check().unwrap_err().to_string();
            assert!(why.contains(&format!("ldap load: {key}")), "{text}: {why}");
        }
    }
}
