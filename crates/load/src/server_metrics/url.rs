//! Where an exposition is fetched: a URL of plain HTTP. Pure.

use std::fmt;

use machine::{Class, Fault};

/// A URL is not longer than this, bytes.
const LONGEST_BYTES: usize = 2048;

/// A URL of plain HTTP.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Url {
    /// Name or address of the host; of IPv6 without its brackets.
    pub host: String,
    /// TCP port; 80 where the URL has none.
    pub port: u16,
    /// Path and query; `/metrics` where the URL has none.
    pub path: String,
}

impl Url {
    /// Reads `http://HOST[:PORT][/PATH]`.
    ///
    /// # Errors
    /// A fault of usage that names the URL and what is wrong with it: another scheme, credentials, no host, a malformed port or path.
    pub(super) fn of(text: &str) -> Result<Self, Fault> {
        let wrong =
            |cause: &str, remedy: &str| Err(Fault::new(Class::Usage, format!("URL '{text}'"), cause, remedy));
        if text.len() > LONGEST_BYTES {
            return wrong(&format!("it is longer than {LONGEST_BYTES} bytes"), "give a shorter one");
        }
        if text.starts_with("https:") {
            return wrong(
                "https is not supported: the metrics are fetched over plain TCP",
                "give a http address of this host (exporters usually have one), or let a program fetch it: command:curl -s https://...",
            );
        }
        let Some(rest) = text.strip_prefix("http://") else {
            return wrong("it does not start with http://", "write http://HOST:PORT/metrics");
        };
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, "/metrics"),
        };
        if authority.contains('@') {
            return wrong("no credentials are sent", "give an address of this host that needs none");
        }
        let Some((host, port)) = host_and_port(authority) else {
            return wrong(
                "its host or port is malformed",
                "write http://HOST:PORT/metrics, IPv6 in brackets",
            );
        };
        let path = if path.starts_with('?') { format!("/{path}") } else { path.to_string() };
        if !path.bytes().all(|b| b.is_ascii_graphic()) {
            return wrong("its path has blanks or other characters that no URL has", "escape them: %20");
        }
        Ok(Self { host, port, path })
    }

    /// Host and port as a URL has them.
    pub(super) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// The request for it.
    pub(super) fn request(&self) -> String {
        format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: pinwise\r\n\
             Accept: text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1\r\n\
             Accept-Encoding: identity\r\nConnection: close\r\n\r\n",
            self.path,
            self.authority()
        )
    }
}

fn host_and_port(authority: &str) -> Option<(String, u16)> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inside) => {
            let (host, rest) = inside.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, rest)
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
        None if rest.is_empty() => 80,
        None => return None,
    };
    let is_host = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':');
    (!host.is_empty() && host.bytes().all(is_host) && port != 0).then(|| (host.to_string(), port))
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_plain_http_are_read() {
        let of = |text: &str| Url::of(text).unwrap().to_string();
        assert_eq!(of("http://127.0.0.1:9100/metrics"), "http://127.0.0.1:9100/metrics");
        assert_eq!(of("http://localhost"), "http://localhost:80/metrics");
        assert_eq!(of("http://localhost:8080/"), "http://localhost:8080/");
        assert_eq!(of("http://[::1]:9100/m?a=b"), "http://[::1]:9100/m?a=b");
        assert_eq!(of("http://h?x=1"), "http://h:80/?x=1");
        let mut fields = [httparse::EMPTY_HEADER; 8];
        let request = Url::of("http://[::1]:9100/m").unwrap().request();
        assert!(httparse::Request::new(&mut fields).parse(request.as_bytes()).unwrap().is_complete());
        assert!(request.starts_with("GET /m HTTP/1.1\r\nHost: [::1]:9100\r\n"));
    }

    #[test]
    fn others_are_refused_with_a_remedy() {
        for (text, why) in [
            ("https://localhost/metrics", "command:curl"),
            ("ftp://localhost", "http://"),
            ("localhost:9100", "http://"),
            ("http://user:word@host/", "credentials"),
            ("http://:80/", "malformed"),
            ("http:///metrics", "malformed"),
            ("http://host:0/", "malformed"),
            ("http://host:+8/", "malformed"),
            ("http://host:99999/", "malformed"),
            ("http://[::1/", "malformed"),
            ("http://[x]/", "malformed"),
            ("http://ho st/", "malformed"),
            ("http://host/a b", "%20"),
            ("http://host/a\r\nX: y", "%20"),
        ] {
            let error = Url::of(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s).{0,60}", near in "http://[a-c:@/?\\[\\]0-9é]{0,30}") {
            let _ = Url::of(&text);
            if let Ok(url) = Url::of(&near) {
                proptest::prop_assert_eq!(Url::of(&url.to_string()).unwrap(), url);
            }
        }
    }
}
