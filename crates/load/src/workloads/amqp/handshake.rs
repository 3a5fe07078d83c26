//! How a connection begins, whatever is done on it then: protocol, login, tuning, virtual host.

use super::close_reason::{ends, shown};
use super::method::{self, Said};

/// The largest frame that is asked for, bytes: what RabbitMQ offers. A smaller offer is taken.
pub(super) const FRAME_BYTES: u32 = 131_072;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// connection.start is awaited.
    Greeted,
    /// connection.tune is awaited.
    LoggedIn,
    /// connection.open-ok is awaited.
    Opening,
}

/// The handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    user: String,
    password: String,
    vhost: String,
    channels: u32,
    stage: Stage,
    /// The largest frame that was agreed on, bytes.
    pub(super) frame_bytes: usize,
}

impl Handshake {
    /// Of this user, who wants so many channels.
    pub(super) fn new(user: &str, password: &str, vhost: &str, channels: u32) -> Self {
        let [user, password, vhost] = [user, password, vhost].map(String::from);
        Self { user, password, vhost, channels, stage: Stage::Greeted, frame_bytes: FRAME_BYTES as usize }
    }

    /// Begins anew, on a fresh connection.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) {
        (self.stage, self.frame_bytes) = (Stage::Greeted, FRAME_BYTES as usize);
        out.extend(method::PROTOCOL);
    }

    /// Takes what the broker says of the connection; true once it is open. Fails when it will not be.
    pub(super) fn said(&mut self, said: Said<'_>, out: &mut Vec<u8>) -> Result<bool, String> {
        match (said, self.stage) {
            (Said::Start { mechanisms }, Stage::Greeted) => {
                if !mechanisms.split(|b| *b == b' ').any(|way| way == b"PLAIN") {
                    let ways = shown(mechanisms);
                    return Err(format!("the broker takes no login by user and password, but {ways}"));
                }
                method::start_ok(out, &self.user, &self.password);
                self.stage = Stage::LoggedIn;
            }
            (Said::Tune { channels, frame_bytes }, Stage::LoggedIn) => {
                self.tuned(channels, frame_bytes)?;
                method::tune_ok(out, self.channels as u16, self.frame_bytes as u32);
                method::connection_open(out, &self.vhost);
                self.stage = Stage::Opening;
            }
            (Said::ConnectionOpened, Stage::Opening) => return Ok(true),
            (Said::Unblocked, _) => {}
            (said, _) => return Err(ends("the connection", 0, said, out)),
        }
        Ok(false)
    }

    fn tuned(&mut self, channels: u16, frame_bytes: u32) -> Result<(), String> {
        if channels != 0 && u32::from(channels) < self.channels {
            let most = format!("the broker takes at most {channels} channels a connection");
            return Err(format!("{most}, not {}: raise its channel_max, or lower `channels`", self.channels));
        }
        // 0 is no limit; 4096 is the least that a broker may offer.
        if frame_bytes != 0 {
            self.frame_bytes = frame_bytes.clamp(4096, FRAME_BYTES) as usize;
        }
        Ok(())
    }
}
