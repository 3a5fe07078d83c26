//! What a protocol is to the engine: the client's side of one connection, without sockets and without clocks.

use crate::outcome::operations::{Kind, Phase};

/// What a dialogue has understood of what came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Everything that comes before the first request is said and answered: requests may be asked from now on.
    Ready,
    /// The answer of this lane's request is in whole, and is right.
    Answered(u32),
    /// The answer of this lane's request is in, and is not what it has to be; the words say what came and what should have come.
    Wrong(u32, String),
    /// The first answer of the connection is an error of a known protocol, and nothing says that it is right: the run ends.
    Refused(Refusal),
    /// The server has said why it ends the connection, or has broken the protocol: nothing more can come of this connection.
    Over(String),
}

/// Why a run is not worth going on with: all of it would measure how fast the server says no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What came, in words.
    pub cause: String,
    /// How to ask rightly, and how to say that this answer is right.
    pub remedy: &'static str,
}

/// The client's side of one connection: bytes in, bytes out.
///
/// A connection has one or several *lanes*, each with one request at a time: one for a protocol that answers in turn, one a channel
/// where requests are out side by side. The engine begins a request on a free lane ([`ask`](Self::ask)), sends what was put into `out`,
/// gives to [`hear`](Self::hear) what comes, and takes the time from when the request was *meant* to go out to [`News::Answered`].
/// It makes a connection anew after a failure, and, where connections are not kept, for each request: then [`open`](Self::open) is called
/// again on the same dialogue.
pub trait Dialogue {
    /// Requests that can be out at the same time, at least 1.
    fn lanes(&self) -> u32 {
        1
    }

    /// A fresh connection: forgets the one before, and puts what has to be said before the first request into `out`. True when requests
    /// may be asked at once; else [`News::Ready`] says when.
    fn open(&mut self, out: &mut Vec<u8>) -> bool {
        let _ = out;
        true
    }

    /// Puts the request of this lane into `out`; `number` counts the requests of the run over all connections of a thread, from 0.
    fn ask(&mut self, lane: u32, number: u64, out: &mut Vec<u8>);

    /// Takes what has come, from its start on: puts into `news` what it means, and into `out` what has to be said at once (a heartbeat, an
    /// acknowledgement). Gives how many bytes were understood; the rest comes again with more behind it.
    fn hear(&mut self, came: &[u8], out: &mut Vec<u8>, news: &mut Vec<News>) -> usize;

    /// Whether the connection takes another request after the answer that is just in; false where the server has said with it that it
    /// ends the connection, as HTTP's may. The engine then makes it anew, and nothing has failed.
    fn goes_on(&self) -> bool {
        true
    }

    /// What request `number` does, where each is reported by itself and not only counted. Then the requests are one sequence, each of which
    /// rests on those before it: the first that fails ends the run.
    fn operation(&self, number: u64) -> Option<(Kind, Phase)> {
        let _ = number;
        None
    }

    /// What the server answered first, escaped and cut, for the reader of the outcome; none where nothing came, or where the protocol
    /// has no words to show.
    fn first_answer(&self) -> Option<&str> {
        None
    }

    /// The run is over: puts a farewell into `out`, where the protocol has one. The server's answer to it is not heard.
    fn close(&mut self, out: &mut Vec<u8>) {
        let _ = out;
    }
}

/// Gives `bytes` as an engine does, with an end at each of `cuts`; what is not understood comes again.
#[cfg(test)]
pub(crate) fn hear_in_parts(
    dialogue: &mut impl Dialogue,
    bytes: &[u8],
    cuts: &[usize],
    out: &mut Vec<u8>,
) -> Vec<News> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let (mut from, mut news) = (0, Vec::new());
    for end in ends {
        if from < end {
            from += dialogue.hear(&bytes[from..end], out, &mut news);
        }
    }
    news
}
