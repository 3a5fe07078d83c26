//! Search filters: text (RFC 4515) into what goes over the wire (RFC 4511, 4.5.1.7).

use super::ber;
use super::pattern::Pattern;

const AND: u8 = 0xa0;
const OR: u8 = 0xa1;
const NOT: u8 = 0xa2;
const EQUAL: u8 = 0xa3;
const SUBSTRINGS: u8 = 0xa4;
const PRESENT: u8 = 0x87;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
const INITIAL: u8 = 0x80;
const ANY: u8 = 0x81;
const FINAL: u8 = 0x82;

/// Filters deeper than this are refused: nobody writes them, and reading them recurses.
const DEEPEST: usize = 32;

/// A search filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Filter {
    /// `(&...)` and `(|...)`, by their tags.
    Many(u8, Vec<Filter>),
    /// `(!...)`
    Not(Box<Filter>),
    /// `(attribute=value)`
    Equal(Vec<u8>, Pattern),
    /// `(attribute=*)`
    Present(Vec<u8>),
    /// `(attribute=initial*any*final)`; each with its tag, none of them empty.
    Substrings(Vec<u8>, Vec<(u8, Pattern)>),
}

impl Filter {
    /// Reads `text`. Fails with what is wrong and where, counted in bytes from 0.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut at = 0;
        let filter = parse(text.as_bytes(), &mut at, 0)?;
        match at == text.len() {
            true => Ok(filter),
            false => Err(format!("at {at}: nothing may follow the last parenthesis")),
        }
    }

    /// Appends the filter with this number.
    pub(super) fn write(&self, number: u64, out: &mut Vec<u8>) {
        match self {
            Self::Many(tag, parts) => ber::element(out, *tag, |out| {
                parts.iter().for_each(|part| part.write(number, out));
            }),
            Self::Not(part) => ber::element(out, NOT, |out| part.write(number, out)),
            Self::Present(attribute) => ber::octets(out, PRESENT, attribute),
            Self::Equal(attribute, value) => ber::element(out, EQUAL, |out| {
                ber::octets(out, OCTET_STRING, attribute);
                ber::element(out, OCTET_STRING, |out| value.write(number, out));
            }),
            Self::Substrings(attribute, parts) => ber::element(out, SUBSTRINGS, |out| {
                ber::octets(out, OCTET_STRING, attribute);
                ber::element(out, SEQUENCE, |out| {
                    for (tag, part) in parts {
                        ber::element(out, *tag, |out| part.write(number, out));
                    }
                });
            }),
        }
    }
}

fn parse(text: &[u8], at: &mut usize, depth: usize) -> Result<Filter, String> {
    if depth > DEEPEST {
        return Err(format!("at {at}: deeper than {DEEPEST} parentheses"));
    }
    take(text, at, b'(')?;
    let filter = match text.get(*at) {
        Some(sign @ (b'&' | b'|')) => {
            *at += 1;
            let mut parts = Vec::new();
            while text.get(*at) == Some(&b'(') {
                parts.push(parse(text, at, depth + 1)?);
            }
            if parts.is_empty() {
                return Err(format!("at {at}: '{}' needs at least one filter", *sign as char));
            }
            Filter::Many(if *sign == b'&' { AND } else { OR }, parts)
        }
        Some(b'!') => {
            *at += 1;
            Filter::Not(Box::new(parse(text, at, depth + 1)?))
        }
        _ => item(text, at)?,
    };
    take(text, at, b')')?;
    Ok(filter)
}

fn take(text: &[u8], at: &mut usize, wanted: u8) -> Result<(), String> {
    match text.get(*at) {
        Some(found) if *found == wanted => {
            *at += 1;
            Ok(())
        }
        _ => Err(format!("at {at}: '{}' is missing", wanted as char)),
    }
}

/// `attribute=value`, up to the closing parenthesis.
fn item(text: &[u8], at: &mut usize) -> Result<Filter, String> {
    let end = text[*at..].iter().position(|b| matches!(b, b'(' | b')')).map_or(text.len(), |n| *at + n);
    let whole = &text[*at..end];
    let equals = whole.iter().position(|b| *b == b'=').ok_or_else(|| format!("at {at}: '=' is missing"))?;
    let (attribute, value) = (&whole[..equals], &whole[equals + 1..]);
    if !attribute.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b';')) || equals == 0
    {
        let (name, of) = (String::from_utf8_lossy(attribute), "equality, presence and substrings are known");
        return Err(format!("at {at}: '{name}' is not an attribute ({of})"));
    }
    let at_value = *at + equals + 1;
    *at = end;
    let attribute = attribute.to_vec();
    let parts: Vec<&[u8]> = value.split(|b| *b == b'*').collect();
    Ok(match parts[..] {
        [value] => Filter::Equal(attribute, plain(value, at_value)?),
        [b"", b""] => Filter::Present(attribute),
        _ => Filter::Substrings(attribute, substrings(&parts, at_value)?),
    })
}

fn substrings(parts: &[&[u8]], at: usize) -> Result<Vec<(u8, Pattern)>, String> {
    let last = parts.len() - 1;
    let mut read = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let tag = match index {
            0 => INITIAL,
            index if index == last => FINAL,
            _ => ANY,
        };
        match part.is_empty() {
            true if tag == ANY => return Err(format!("at {at}: '**' says nothing")),
            true => {}
            false => read.push((tag, plain(part, at)?)),
        }
    }
    Ok(read)
}

/// The text of a value: `\` and two hexadecimal digits are a byte.
fn plain(text: &[u8], at: usize) -> Result<Pattern, String> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let two = rest.get(..2).filter(|two| two.iter().all(u8::is_ascii_hexdigit));
        let escaped = two.and_then(|two| std::str::from_utf8(two).ok());
        let escaped = escaped.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(escaped.ok_or_else(|| format!("at {at}: '\\' needs two hexadecimal digits behind it"))?);
        rest = &rest[2..];
    }
    Ok(Pattern::new(&bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::hex::hex;
    use super::*;

    fn wire(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        Filter::parse(text).unwrap().write(7, &mut out);
        out
    }

    #[test]
    fn filters_are_what_ldapsearch_sends() {
        assert_eq!(wire("(uid=user{n})"), hex("a30c040375696404057573657237"));
        assert_eq!(wire("(uid=*)"), hex("8703756964"));
        assert_eq!(wire("(cn=*12*)"), hex("a40a0402636e300481023132"));
        assert_eq!(wire(r"(uid=user\c3\a9)"), hex("a30d0403756964040675736572c3a9"));
        let deep = r"(&(uid=user1*)(|(sn=*)(!(cn=U*er*{n})))(cn=a\2ab\28))";
        let sent = "a036a40e0403756964300780057573657231a1188702736ea212a4100402636e300a80015581026572820137a30a0402636e0404612a6228";
        assert_eq!(wire(deep), hex(sent));
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
        let why = |text: &str| Filter::parse(text).unwrap_err();
        assert_eq!(why("uid=a"), "at 0: '(' is missing");
        assert_eq!(why("(uid=a"), "at 6: ')' is missing");
        assert_eq!(why("(uid=a)x"), "at 7: nothing may follow the last parenthesis");
        assert!(why("(uid)").contains("'='") && why("(=a)").contains("not an attribute"));
        assert!(why("(uid>=3)").contains("'uid>' is not an attribute"));
        assert!(why("(&)").contains("at least one") && why("(a=**)").contains("'**'"));
        assert!(why(r"(a=\4)").contains("hexadecimal") && why(r"(a=\é0)").contains("hexadecimal"));
        assert!(why(r"(a=\+f)").contains("hexadecimal"));
        assert!(why(&"(!".repeat(1_000)).contains("deeper"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[(&|!)a=*\\\\0-9{n}é]{0,40}") {
            if let Ok(filter) = Filter::parse(&text) {
                filter.write(1, &mut Vec::new());
            }
        }
    }
}
