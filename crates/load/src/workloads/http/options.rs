//! What the http load is given in a recipe.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;

use machine::{Class, Fault};

use crate::drive::{Keys, driven_load};

/// Header fields that the load makes itself.
const OWN_FIELDS: [&str; 3] = ["connection", "content-length", "transfer-encoding"];

driven_load! {
    /// The http load of a recipe: one request of HTTP/1.1 again and again.
    pub struct HttpLoad {
        id: "http",
        connections: 16,
        keep_alive: true,
        /// The method.
        pub method: String = "GET".into(),
        /// Path and query.
        pub path: String = "/".into(),
        /// Header fields beside Host, Content-Length and Connection, which are the load's own; a Host given here is taken.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub headers: BTreeMap<String, String> = BTreeMap::new(),
        /// What is sent behind the head.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub body: Option<String> = None,
        /// The status that every answer must have.
        pub status: u16 = 200,
        /// The body that every answer must have, to the byte; absent: any.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub expect_body: Option<String> = None,
    }
}

fn wrong(key: &str, cause: impl std::fmt::Display, remedy: &str) -> Result<(), Fault> {
    Err(Fault::new(Class::Usage, format!("http load: {key}"), cause, remedy))
}

/// Whether it may stand as a method or a field's name (RFC 9110, 5.6.2).
fn is_token(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(allowed)
}

impl HttpLoad {
    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        self.pace().check(self.id())?;
        self.check_request()
    }

    /// As [`check`](Self::check), for the keys of the protocol.
    pub(super) fn check_request(&self) -> Result<(), Fault> {
        if !is_token(&self.method) || self.method == "CONNECT" {
            return wrong(
                "method",
                format!("'{}' is none that can be asked", self.method),
                "choose GET, POST ...",
            );
        }
        if !self.path.starts_with('/') || !self.path.bytes().all(|b| b.is_ascii_graphic()) {
            return wrong(
                "path",
                format!("'{}' is none", self.path),
                "begin with / and escape blanks as %20",
            );
        }
        for (name, value) in &self.headers {
            if OWN_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                return wrong("headers", format!("{name} is made by the load"), "leave it out");
            }
            if !is_token(name) || value.bytes().any(|b| b < b' ' && b != b'\t' || b == 0x7f) {
                return wrong("headers", format!("{name} or its value is not a header field"), "correct it");
            }
        }
        if !(200..600).contains(&self.status) {
            return wrong("status", format!("{} ends no request", self.status), "choose 200 to 599");
        }
        if self.method == "HEAD" && self.expect_body.is_some() {
            return wrong("expect_body", "an answer to HEAD has none", "leave it out");
        }
        Ok(())
    }

    /// The bytes of a request.
    pub(super) fn request(&self, server: SocketAddr) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.path).into_bytes();
        // Writing to a Vec cannot fail.
        if !self.headers.keys().any(|name| name.eq_ignore_ascii_case("host")) {
            let _ = write!(bytes, "Host: {server}\r\n");
        }
        for (name, value) in &self.headers {
            let _ = write!(bytes, "{name}: {value}\r\n");
        }
        let body = self.body.as_deref().unwrap_or_default();
        if self.body.is_some() || ["POST", "PUT", "PATCH"].contains(&self.method.as_str()) {
            let _ = write!(bytes, "Content-Length: {}\r\n", body.len());
        }
        if !self.keep_alive {
            bytes.extend_from_slice(b"Connection: close\r\n");
        }
        let _ = write!(bytes, "\r\n{body}");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> HttpLoad {
        toml::from_str(text).unwrap()
    }

    fn request(text: &str) -> String {
        String::from_utf8(of(text).request("127.0.0.1:8080".parse().unwrap())).unwrap()
    }

    #[test]
    fn requests_are_as_the_standard_wants_them() {
        assert_eq!(request(""), "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
        let put = "method = 'PUT'\npath = '/a?b=c'\nbody = 'xyz'\nkeep_alive = false\nheaders = { host = 'shop', Accept = '*/*' }";
        assert_eq!(
            request(put),
            "PUT /a?b=c HTTP/1.1\r\nAccept: */*\r\nhost: shop\r\nContent-Length: 3\r\nConnection: close\r\n\r\nxyz"
        );
        assert!(request("method = 'POST'").contains("Content-Length: 0\r\n"));
        let mut headers = [httparse::EMPTY_HEADER; 8];
        assert!(httparse::Request::new(&mut headers).parse(request(put).as_bytes()).unwrap().is_complete());
    }

    #[test]
    fn senseless_options_are_named() {
        for (text, key) in [
            ("method = ''", "method"),
            ("method = 'CONNECT'", "method"),
            ("path = 'index.html'", "path"),
            ("path = '/a b'", "path"),
            ("headers = { Connection = 'close' }", "headers"),
            ("headers = { 'a b' = 'c' }", "headers"),
            ("status = 101", "status"),
            ("method = 'HEAD'\nexpect_body = 'a'", "expect_body"),
            ("seconds = 0.0", "seconds"),
        ] {
            let why = of(text).check().unwrap_err().to_string();
            assert!(why.contains(&format!("http load: {key}")), "{text}: {why}");
        }
        let smuggled = HttpLoad { headers: [("a".into(), "b\r\nc: d".into())].into(), ..HttpLoad::default() };
        assert!(smuggled.check().unwrap_err().to_string().contains("headers"));
        of("").check().unwrap();
    }
}
