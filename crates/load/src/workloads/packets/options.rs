//! What the packet sender is given.

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::packet::{HEAD_BYTES, HEADER_BYTES};
use crate::drive::{Keys, Pace, Spacing};

/// The smallest frame that Ethernet carries, without its checksum, bytes: what pktgen sends by default.
pub(super) const SMALLEST_BYTES: u32 = 60;

/// The largest, bytes: 1500 and its header.
const LARGEST_BYTES: u32 = 1514;

/// As many parts as the kernel cuts one message into (UDP_MAX_SEGMENTS of older kernels).
const MOST_SEGMENTS: u32 = 64;

/// How packets are handed to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Send {
    /// A call for each: sendto(2) of a connected socket.
    #[default]
    Sendto,
    /// A call for `batch` of them: sendmmsg(2).
    Sendmmsg,
    /// A message of `batch` of them, which the kernel or the card cuts: UDP_SEGMENT, udp(7).
    Gso,
    /// The kernel's own generator on `device`, from its thread on the sender's first CPU: pktgen. Nobody counts what arrives.
    Pktgen,
    /// Frames in a ring that the kernel shares, past its network stack: AF_XDP in copy mode, one call for `batch` of them.
    Xdp,
}

/// A sender of packets towards `pinwise packet-sink`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PacketsLoad {
    /// How packets are handed to the kernel.
    pub send: Send,
    /// Length of a packet with its Ethernet, IPv4 and UDP headers, bytes (the checksum at its end is not counted, as pktgen does not).
    pub packet_bytes: u32,
    /// Packets of one call, for `sendmmsg`, `gso` and `xdp`.
    pub batch: u32,
    /// For `pktgen`: the interface. What it sends goes to nobody, and out of the machine where the interface leads out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// For `pktgen`: how often a packet is sent again before a new one is made (0: never), with which an interface must be able to
    /// deal: dummy ones and most cards are, veth is not.
    #[serde(skip_serializing_if = "is_zero")]
    pub clone_skb: u32,
    /// Packets a second; none for as many as the sender can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Length of the run, s.
    pub seconds: f64,
    /// Network namespace (/run/netns/NAME) that the sender runs in; none for our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// The pinwise binary that is the sender; none for the one that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exe: Option<std::path::PathBuf>,
}

impl Default for PacketsLoad {
    fn default() -> Self {
        Self {
            send: Send::default(),
            packet_bytes: SMALLEST_BYTES,
            batch: 32,
            device: String::new(),
            clone_skb: 0,
            rate_per_s: None,
            seconds: 5.0,
            netns: None,
            exe: None,
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl PacketsLoad {
    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        self.pace().check(self.id())?;
        for (key, value, least, most) in [
            ("packet_bytes", self.packet_bytes, SMALLEST_BYTES, LARGEST_BYTES),
            ("batch", self.batch, 1, MOST_SEGMENTS),
            ("clone_skb", self.clone_skb, 0, 1_000_000),
        ] {
            if !(least..=most).contains(&value) {
                let (cause, remedy) =
                    (format!("{value} is out of range"), format!("choose {least} to {most}"));
                return Err(Fault::new(Class::Usage, format!("packets load: {key}"), cause, remedy));
            }
        }
        self.check_device()?;
        // One message of IPv4 holds no more.
        let most = 65_507 / self.payload_bytes() as u32;
        match self.send == Send::Gso && self.batch > most {
            false => Ok(()),
            true => Err(Fault::new(
                Class::Usage,
                "packets load: batch",
                format!("{} packets of {} bytes do not fit into one message", self.batch, self.packet_bytes),
                format!("choose 1 to {most} for gso"),
            )),
        }
    }

    fn check_device(&self) -> Result<(), Fault> {
        let wrong = |key: &str, cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("packets load: {key}"), cause, remedy))
        };
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_graphic() && b != b'/') && name != "..";
        match self.send {
            Send::Pktgen if self.device.is_empty() => {
                wrong("device", "pktgen sends through an interface", "name one: device = \"dummy0\"")
            }
            Send::Pktgen if self.device.len() > 15 || !is_name(&self.device) => {
                wrong("device", "this is not a name of an interface", "see 'ip link'")
            }
            Send::Pktgen if self.rate_per_s.is_some() => {
                wrong("rate_per_s", "pktgen is driven as fast as it can be here", "leave it out")
            }
            Send::Pktgen if self.netns.is_some() => {
                wrong("netns", "pktgen is driven in our own network namespace here", "leave it out")
            }
            Send::Pktgen => Ok(()),
            _ if self.clone_skb > 0 || !self.device.is_empty() => {
                wrong("device, clone_skb", "they are pktgen's", "leave them out, or take send = \"pktgen\"")
            }
            _ => Ok(()),
        }
    }

    /// What a packet carries behind its headers, bytes.
    pub(crate) fn payload_bytes(&self) -> usize {
        (self.packet_bytes as usize).saturating_sub(HEADER_BYTES).max(HEAD_BYTES)
    }

    /// Packets that one call takes.
    pub(crate) fn a_call(&self) -> u32 {
        if self.send == Send::Sendto { 1 } else { self.batch }
    }
}

impl Keys for PacketsLoad {
    fn id(&self) -> &'static str {
        "packets"
    }

    /// One socket, one thread, equal gaps.
    fn pace(&self) -> Pace {
        Pace {
            connections: 1,
            threads: 1,
            keep_alive: true,
            rate_per_s: self.rate_per_s,
            spacing: Spacing::Uniform,
            seed: 1,
            seconds: self.seconds,
            max_requests: None,
            timeout_s: 5.0,
        }
    }

    fn netns(&self) -> Option<&String> {
        self.netns.as_ref()
    }

    fn exe(&self) -> Option<&std::path::Path> {
        self.exe.as_deref()
    }

    /// Takes rate and length; the rest has no meaning here.
    fn set_pace(&mut self, pace: Pace) {
        (self.rate_per_s, self.seconds) = (pace.rate_per_s, pace.seconds);
    }

    fn set_netns(&mut self, netns: Option<String>) {
        self.netns = netns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_values_are_named() {
        let default = PacketsLoad::default;
        default().check().unwrap();
        for (load, key) in [
            (PacketsLoad { packet_bytes: 59, ..default() }, "packet_bytes"),
            (PacketsLoad { packet_bytes: 1515, ..default() }, "packet_bytes"),
            (PacketsLoad { batch: 0, ..default() }, "batch"),
            (PacketsLoad { batch: 65, ..default() }, "batch"),
            (PacketsLoad { send: Send::Gso, packet_bytes: 1514, batch: 64, ..default() }, "batch"),
            (PacketsLoad { send: Send::Pktgen, ..default() }, "device"),
            (PacketsLoad { send: Send::Pktgen, device: "../x".into(), ..default() }, "device"),
            (PacketsLoad { clone_skb: 1, ..default() }, "clone_skb"),
            (PacketsLoad { rate_per_s: Some(0.0), ..default() }, "rate_per_s"),
            (PacketsLoad { seconds: 0.0, ..default() }, "seconds"),
        ] {
            let fault = load.check().unwrap_err().to_string();
            assert!(fault.contains(key), "{fault}");
        }
        PacketsLoad { send: Send::Sendmmsg, packet_bytes: 1514, batch: 64, ..default() }.check().unwrap();
    }

    #[test]
    fn the_smallest_packet_is_the_smallest_frame() {
        assert_eq!(PacketsLoad::default().payload_bytes(), 18);
    }
}
