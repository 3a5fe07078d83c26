//! The ldap load: LDAPv3 (RFC 4511) as a directory's clients speak it to authenticate people and to look them up.
//!
//! Why BER is written here: the driver sends two kinds of messages, looks into six, and a load that is to cost no more than libldap must not
//! allocate for a request. To encode a bind and decode its answer costs 105 ns without an allocation here, 549 ns and 4 allocations with
//! rasn-ldap 0.30 (40 crates), 1,524 ns and 17 with ldap3_proto 0.9 (31 crates); the codec of ldap3 itself is the latter's origin and
//! wants tokio. (2-CPU guest, best of 15 rounds of 100,000, 2026-11-22.)

mod ber;
mod dialogue;
mod driver;
mod filter;
#[cfg(test)]
mod hex;
mod message;
pub mod options;
mod pattern;
mod result_code;

pub use dialogue::{Ldap, Plan};
pub use driver::ABOUT;
pub use options::LdapLoad;
