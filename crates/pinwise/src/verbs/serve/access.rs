//! Who may ask the live page for what: decisions alone, from what a request says.
//!
//! Any page that a browser on this machine shows can send requests here, and any user of this machine can. So a request needs the token
//! that was printed at the start, has to name this server as its host (a name of somebody else's that resolves to 127.0.0.1 does not), and
//! comes from no other page. What changes the machine needs more.

use std::hint::black_box;

use axum::http::{HeaderMap, Method, StatusCode};
use machine::{Class, Fault};
use rustix::rand::{GetRandomFlags, getrandom};

/// The names by which a browser on this machine reaches the server.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// What is random in a token, bytes.
const RANDOM_BYTES: usize = 32;

/// Digits of what [`random_hex`] returns.
pub(super) const HEX_DIGITS: usize = 2 * RANDOM_BYTES;

/// What the server was started with.
pub(super) struct Access {
    /// Whoever has it may look.
    pub(super) token: String,
    /// What a request to change something has to repeat; `None` where nothing can be changed.
    pub(super) csrf: Option<String>,
    /// Where the server listens.
    pub(super) port: u16,
    /// Whether the server runs as root.
    pub(super) is_root: bool,
    /// Whether the user has allowed changes at the start.
    pub(super) allows_changes: bool,
}

/// What a request says of itself.
pub(super) struct Asked<'a> {
    /// Its method.
    pub(super) method: &'a Method,
    /// Whether what it asks for is the page itself, which holds nothing of the machine.
    pub(super) is_open: bool,
    /// The host in its request line, where that has one.
    pub(super) authority: Option<&'a str>,
    /// Its headers.
    pub(super) headers: &'a HeaderMap,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    /// It names another host, or none, or several.
    ForeignHost,
    /// Another page sent it.
    ForeignOrigin,
    /// It has no token, or a wrong one.
    NoToken,
    /// It would change something, which was not allowed at the start.
    ChangesNotAllowed,
    /// It would change something, and the server may not.
    NotRoot,
    /// It would change something, and does not say which page sent it.
    NoOrigin,
    /// It would change something, and does not repeat what the page was given for that.
    WrongCsrf,
    /// It would change something, and is not in the form that only a script of this page can send.
    NotJson,
}

impl Access {
    /// The access of a server that starts, with a token of its own.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub(super) fn new(port: u16, allows_changes: bool) -> Result<Self, Fault> {
        let is_root = rustix::process::geteuid().is_root();
        let csrf = (is_root && allows_changes).then(random_hex).transpose()?;
        Ok(Self { token: random_hex()?, csrf, port, is_root, allows_changes })
    }

    /// Whether a request is answered.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn decide(&self, asked: &Asked<'_>) -> Result<(), Denied> {
        self.check_host(asked)?;
        let has_origin = self.has_origin(asked.headers)?;
        let only_reads = [Method::GET, Method::HEAD].contains(asked.method);
        if asked.is_open && only_reads {
            return Ok(());
        }
        self.check_token(asked.headers)?;
        if only_reads { Ok(()) } else { self.check_change(asked.headers, has_origin) }
    }

    fn check_host(&self, asked: &Asked<'_>) -> Result<(), Denied> {
        let is_own_line = asked.authority.is_none_or(|authority| self.is_own(authority));
        match values(asked.headers, "host").as_slice() {
            [host] if is_own_line && self.is_own(host) => Ok(()),
            _ => Err(Denied::ForeignHost),
        }
    }

    /// Whether it says which page sent it, which is one of this server.
    fn has_origin(&self, headers: &HeaderMap) -> Result<bool, Denied> {
        match values(headers, "origin").as_slice() {
            [] => Ok(false),
            [origin] if origin.strip_prefix("http://").is_some_and(|host| self.is_own(host)) => Ok(true),
            _ => Err(Denied::ForeignOrigin),
        }
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Denied> {
        let given = values(headers, "authorization");
        match given.as_slice() {
            [given] if given.strip_prefix("Bearer ").is_some_and(|token| is_same(token, &self.token)) => {
                Ok(())
            }
            _ => Err(Denied::NoToken),
        }
    }

    fn check_change(&self, headers: &HeaderMap, has_origin: bool) -> Result<(), Denied> {
        if !self.allows_changes {
            return Err(Denied::ChangesNotAllowed);
        }
        let Some(csrf) = &self.csrf else { return Err(Denied::NotRoot) };
        if !has_origin {
            return Err(Denied::NoOrigin);
        }
        match values(headers, "x-pinwise-csrf").as_slice() {
            [given] if is_same(given, csrf) => {}
            _ => return Err(Denied::WrongCsrf),
        }
        match values(headers, "content-type").as_slice() {
            [kind] if kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json") => Ok(()),
            _ => Err(Denied::NotJson),
        }
    }

    /// Whether `host` is this server: a name of this machine, and its port.
    fn is_own(&self, host: &str) -> bool {
        let is_port = |text: &str| match text.strip_prefix(':') {
            Some(port) => port == self.port.to_string(),
            // What browsers leave out.
            None => text.is_empty() && self.port == 80,
        };
        NAMES.iter().any(|name| host.strip_prefix(name).is_some_and(is_port))
    }
}

impl Denied {
    /// The status, the class, the object, the cause and the remedy.
    pub(super) fn words(self) -> (StatusCode, [&'static str; 4]) {
        let (forbidden, denied) = (StatusCode::FORBIDDEN, "not-permitted");
        let reload = "reload the page, and use that";
        match self {
            Self::ForeignHost => {
                let remedy = "open the address that pinwise serve has printed; through a tunnel, forward the same port: \
                    ssh -L 9119:127.0.0.1:9119 HOST";
                (
                    StatusCode::MISDIRECTED_REQUEST,
                    ["misdirected", "Host", "the request names another host or port", remedy],
                )
            }
            Self::ForeignOrigin => (forbidden, [denied, "Origin", "another page sent the request", reload]),
            Self::NoToken => {
                let remedy = "open the address that pinwise serve has printed, with all that follows #token=";
                (
                    StatusCode::UNAUTHORIZED,
                    ["unauthorized", "Authorization", "the token is missing or wrong", remedy],
                )
            }
            Self::ChangesNotAllowed => {
                let remedy = "start it as root with: pinwise serve --allow-changes";
                (forbidden, [denied, "pinwise serve", "it was started without --allow-changes", remedy])
            }
            Self::NotRoot => {
                let remedy = "start it as root: sudo pinwise serve --allow-changes";
                (forbidden, [denied, "pinwise serve", "it does not run as root", remedy])
            }
            Self::NoOrigin => {
                (forbidden, [denied, "Origin", "the request does not say which page sent it", reload])
            }
            Self::WrongCsrf => {
                (forbidden, [denied, "X-Pinwise-CSRF", "it is missing or not that of this server", reload])
            }
            Self::NotJson => (forbidden, [denied, "Content-Type", "it is not application/json", reload]),
        }
    }
}

/// All values of a header; what is no text is nothing that any rule allows.
fn values<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).collect()
}

/// Whether two texts are the same, in a time that does not depend on where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0_u8, |all, (a, b)| black_box(all | (a ^ b)));
    one.len() == other.len() && differing == 0
}

/// A secret in hexadecimal digits, out of the kernel's random numbers.
///
/// # Errors
/// The kernel has none.
pub(super) fn random_hex() -> Result<String, Fault> {
    let mut bytes = [0_u8; RANDOM_BYTES];
    let filled = rustix::io::retry_on_intr(|| getrandom(&mut bytes[..], GetRandomFlags::empty()));
    // Up to 256 bytes come at once or not at all, getrandom(2).
    match filled {
        Ok(RANDOM_BYTES) => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        Ok(_) => Err(no_random_numbers("it returned fewer bytes than were asked for")),
        Err(error) => Err(no_random_numbers(error)),
    }
}

fn no_random_numbers(cause: impl std::fmt::Display) -> Fault {
    Fault::new(Class::MachineLacks, "getrandom(2)", cause, "try again")
}

#[cfg(test)]
mod tests;
