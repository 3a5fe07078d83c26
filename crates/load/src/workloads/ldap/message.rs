//! The messages of LDAP (RFC 4511, section 4) that the driver sends and understands.

use super::ber::{self, Reader, Unreadable};
use super::filter::Filter;
use super::options::Scope;
use super::pattern::Pattern;

const SEQUENCE: u8 = 0x30;
const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const ENUMERATED: u8 = 0x0a;
const BIND_REQUEST: u8 = 0x60;
const BIND_RESPONSE: u8 = 0x61;
const UNBIND_REQUEST: u8 = 0x42;
const SEARCH_REQUEST: u8 = 0x63;
const SEARCH_ENTRY: u8 = 0x64;
const SEARCH_DONE: u8 = 0x65;
const SEARCH_REFERENCE: u8 = 0x73;
const EXTENDED_RESPONSE: u8 = 0x78;
const SIMPLE: u8 = 0x80;
const LDAP_VERSION: u32 = 3;

/// A search, but for its number.
#[derive(Debug, Clone)]
pub(super) struct Search {
    pub(super) base: Pattern,
    pub(super) scope: Scope,
    pub(super) filter: Filter,
    pub(super) attributes: Vec<Vec<u8>>,
}

/// Appends a simple bind.
pub(super) fn bind(
    out: &mut Vec<u8>,
    id: u32,
    dn: impl FnOnce(&mut Vec<u8>),
    password: impl FnOnce(&mut Vec<u8>),
) {
    message(out, id, BIND_REQUEST, |out| {
        ber::number(out, INTEGER, LDAP_VERSION);
        ber::element(out, OCTET_STRING, dn);
        ber::element(out, SIMPLE, password);
    });
}

/// Appends a search in which the entry `number` is meant: no limits, aliases not followed, values and not types only.
pub(super) fn search(out: &mut Vec<u8>, id: u32, search: &Search, number: u64) {
    message(out, id, SEARCH_REQUEST, |out| {
        ber::element(out, OCTET_STRING, |out| search.base.write(number, out));
        ber::number(out, ENUMERATED, search.scope.number());
        ber::number(out, ENUMERATED, 0);
        ber::number(out, INTEGER, 0);
        ber::number(out, INTEGER, 0);
        ber::octets(out, BOOLEAN, &[0]);
        search.filter.write(number, out);
        ber::element(out, SEQUENCE, |out| {
            search.attributes.iter().for_each(|name| ber::octets(out, OCTET_STRING, name));
        });
    });
}

/// Appends the farewell.
pub(super) fn unbind(out: &mut Vec<u8>, id: u32) {
    message(out, id, UNBIND_REQUEST, |_| ());
}

fn message(out: &mut Vec<u8>, id: u32, operation: u8, content: impl FnOnce(&mut Vec<u8>)) {
    ber::element(out, SEQUENCE, |out| {
        ber::number(out, INTEGER, id);
        ber::element(out, operation, content);
    });
}

/// What a server says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// The end of a bind.
    Bound(Outcome<'a>),
    /// An entry that a search found: its DN.
    Entry(&'a [u8]),
    /// Another server's address, in the place of entries.
    Reference,
    /// The end of a search.
    Searched(Outcome<'a>),
    /// An extended response; unasked-for, since nothing extended is asked.
    Extended(Outcome<'a>),
    /// Anything else, by its tag.
    Other(u8),
}

/// The result of an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome<'a> {
    /// See [`super::result_code`].
    pub(super) code: u32,
    /// The server's own words; often none.
    pub(super) said: &'a [u8],
}

/// Reads the next message of `reader`: the number of the request that it belongs to, 0 for none, and what it says.
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(u32, Said<'a>), Unreadable> {
    // Every message begins so; anything else is no LDAP, and its length not worth waiting for.
    if reader.0.first().is_some_and(|tag| *tag != SEQUENCE) {
        return Err(Unreadable::Malformed);
    }
    let whole = reader.expect(SEQUENCE)?;
    // The end of the message is there: what seems torn within it is malformed.
    understand(Reader(whole)).map_err(|_| Unreadable::Malformed)
}

fn understand(mut message: Reader<'_>) -> Result<(u32, Said<'_>), Unreadable> {
    let id = ber::number_of(message.expect(INTEGER)?).ok_or(Unreadable::Malformed)?;
    let (operation, content) = message.next()?;
    let mut content = Reader(content);
    let said = match operation {
        BIND_RESPONSE => Said::Bound(outcome(&mut content)?),
        SEARCH_DONE => Said::Searched(outcome(&mut content)?),
        EXTENDED_RESPONSE => Said::Extended(outcome(&mut content)?),
        SEARCH_ENTRY => {
            let dn = content.expect(OCTET_STRING)?;
            content.expect(SEQUENCE)?;
            Said::Entry(dn)
        }
        SEARCH_REFERENCE => Said::Reference,
        other => Said::Other(other),
    };
    Ok((id, said))
}

fn outcome<'a>(content: &mut Reader<'a>) -> Result<Outcome<'a>, Unreadable> {
    let code = ber::number_of(content.expect(ENUMERATED)?).ok_or(Unreadable::Malformed)?;
    let _matched_dn = content.expect(OCTET_STRING)?;
    let said = content.expect(OCTET_STRING)?;
    Ok(Outcome { code, said })
}

#[cfg(test)]
mod tests {
    use super::super::hex::hex;
    use super::*;

    #[test]
    fn requests_are_what_libldap_sends() {
        let dn = b"uid=user7,dc=example,dc=com";
        let mut out = Vec::new();
        bind(&mut out, 1, |out| out.extend(dn), |out| out.extend(b"secret7"));
        let sent = "302e0201016029020103041b7569643d75736572372c64633d6578616d706c652c64633d636f6d800773656372657437";
        assert_eq!(out, hex(sent));

        let wanted = Search {
            base: Pattern::new(b"dc=example,dc=com"),
            scope: Scope::Subtree,
            filter: Filter::parse("(uid=user{n})").unwrap(),
            attributes: vec![b"1.1".to_vec()],
        };
        out.clear();
        search(&mut out, 2, &wanted, 7);
        // As captured, but for values and types both (010100): so it was there too.
        let sent = "303c0201026337041164633d6578616d706c652c64633d636f6d0a01020a0100020100020100010100a30c0403756964\
                    0405757365723730050403312e31";
        assert_eq!(out, hex(sent));

        out.clear();
        unbind(&mut out, 3);
        assert_eq!(out, hex("30050201034200"));
    }

    #[test]
    fn what_slapd_answers_is_understood() {
        let of = |digits: &str| {
            let bytes = hex(digits).leak();
            let mut reader = Reader(bytes);
            let read = read(&mut reader).unwrap();
            assert!(reader.0.is_empty());
            read
        };
        let outcome = |code, said| Outcome { code, said };
        assert_eq!(of("300c02010161070a010004000400"), (1, Said::Bound(outcome(0, b""))));
        assert_eq!(of("300c02010161070a013104000400"), (1, Said::Bound(outcome(49, b""))));
        assert_eq!(of("300c02010265070a012004000400"), (2, Said::Searched(outcome(32, b""))));
        let entry = "3024020102641f041b7569643d75736572372c64633d6578616d706c652c64633d636f6d3000";
        assert_eq!(of(entry), (2, Said::Entry(b"uid=user7,dc=example,dc=com")));
        let notice = "303802010078330a010204000414756e6b6e6f776e204c444150207265717565737\
                      48a16312e332e362e312e342e312e313436362e3230303336";
        assert_eq!(of(notice), (0, Said::Extended(outcome(2, b"unknown LDAP request"))));
    }

    #[test]
    fn other_protocols_are_not_waited_for() {
        assert_eq!(read(&mut Reader(b"HTTP/1.1 400 Bad Request\r\n")), Err(Unreadable::Malformed));
        assert_eq!(read(&mut Reader(&hex("300502010161 03"))), Err(Unreadable::Malformed), "torn within");
        assert_eq!(read(&mut Reader(&hex("3005020101"))), Err(Unreadable::Torn));
    }
}
