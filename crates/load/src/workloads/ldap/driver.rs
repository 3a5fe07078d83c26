//! The driver `ldap`: authentications and searches at a directory.

use std::net::SocketAddr;

use machine::Fault;

use super::{Ldap, LdapLoad, Plan};
use crate::drive::{self, Course, Document, Keys};
use crate::workloads::{About, Driven, LoadSpec};

/// What it is.
pub static ABOUT: About = About {
    id: "ldap",
    title: "authentications (bind; search, then bind) and searches at a directory, LDAPv3",
    docs: "Drives OpenLDAP or any LDAPv3 server by simple binds (operation = \"bind\"), by a search for an entry and a bind as it \
          (\"search-bind\"), or by searches (\"search\"). `{n}` in bind_dn, password, base, filter and expect_dn is a number below `users`, \
          drawn for each request. Connections are kept, or each request has its own; closed loop over `connections`, or open at \
          `rate_per_s`. An answer is right when it belongs to the request, its result code is 0 and the number of entries (and \
          their DN, where given) is as expected; the first wrong one is reported with what was wrong. Gives the figures of the string load.",
    example: "driver = \"ldap\"\noperation = \"bind\"\nbind_dn = \"uid=user{n},dc=example,dc=com\"\npassword = \"secret{n}\"\n\
              users = 100000\nconnections = 4\n",
};

impl Driven for LdapLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        LdapLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::Ldap(self.clone())
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        LdapLoad::check(self)?;
        let plan = Plan::of(self)?;
        drive::drive(&self.pace(), server, |connection| Ldap::new(plan.clone(), connection), course)
    }
}
