//! Why a broker ends what it ends, in words.

use super::method::{self, Said};

/// Why the broker ends it, in words; what it has to hear then goes into `out`.
pub(super) fn ends(what: &str, channel: u16, said: Said<'_>, out: &mut Vec<u8>) -> String {
    match said {
        Said::Closed { connection, code, text } => {
            method::close_ok(out, connection, channel);
            format!("the broker ended {what}: {code} {}", shown(text))
        }
        Said::Blocked(why) => {
            let why = shown(why);
            let alarm = if why.contains("memory") { "memory" } else { "memory or disk" };
            format!("the broker raised its {alarm} alarm and blocked publishers: {why}")
        }
        Said::Cancelled => format!("the broker cancelled the consumer of {what}: its queue is gone"),
        Said::Returned { code, text } => {
            format!("the broker returned a message of {what}: {code} {}", shown(text))
        }
        said => format!("the broker said on {what} what nobody asked for: {said:?}"),
    }
}

/// Text of the broker.
pub(super) fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
