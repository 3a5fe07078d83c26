//! The receiving side of a connection, frame by frame, whatever is said on it.

use super::frame::{self, Frame};
use crate::drive::News;

/// The side of a connection that frames come to.
pub(super) trait Receiver {
    /// The longest frame that was agreed on, bytes.
    fn longest(&self) -> usize;

    /// Whether nothing more can come of the connection.
    fn is_over(&self) -> bool;

    /// Nothing more can.
    fn end(&mut self);

    /// Takes a frame. Fails, saying why, when it ends the connection.
    fn take(&mut self, frame: Frame<'_>, out: &mut Vec<u8>, news: &mut Vec<News>) -> Result<(), String>;
}

/// Gives `to` each whole frame of what came; how many bytes were understood, as [`Dialogue::hear`](crate::drive::Dialogue::hear) has it.
pub(super) fn receive(to: &mut impl Receiver, came: &[u8], out: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
    let mut understood = 0;
    while !to.is_over() {
        let taken = match frame::first(&came[understood..], to.longest()) {
            Ok(None) => return understood,
            Ok(Some(frame)) => {
                understood += frame.len();
                to.take(frame, out, news)
            }
            Err(why) => Err(why),
        };
        if let Err(why) = taken {
            to.end();
            news.push(News::Over(why));
        }
    }
    came.len()
}
