//! The headers of a frame: Ethernet, IPv4, UDP (RFC 894, 791, 768).

use std::net::SocketAddrV4;

use crate::workloads::packets::packet::HEADER_BYTES;

/// From where to where.
pub(super) struct Frame {
    pub(super) from_mac: [u8; 6],
    pub(super) to_mac: [u8; 6],
    pub(super) source: SocketAddrV4,
    pub(super) sink: SocketAddrV4,
}

impl Frame {
    /// What stands in front of so many bytes. The UDP checksum is left out, as IPv4 allows: the packet's number would change it, and the
    /// sink looks at every byte itself.
    pub(super) fn head(&self, payload_bytes: usize) -> [u8; HEADER_BYTES] {
        let udp_bytes = 8 + payload_bytes as u16;
        let mut head = [0; HEADER_BYTES];
        head[0..6].copy_from_slice(&self.to_mac);
        head[6..12].copy_from_slice(&self.from_mac);
        head[12..14].copy_from_slice(&0x0800u16.to_be_bytes());
        let ip = &mut head[14..34];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&(20 + udp_bytes).to_be_bytes());
        // Not to be cut into fragments.
        ip[6..8].copy_from_slice(&0x4000u16.to_be_bytes());
        (ip[8], ip[9]) = (64, 17);
        ip[12..16].copy_from_slice(&self.source.ip().octets());
        ip[16..20].copy_from_slice(&self.sink.ip().octets());
        let sum = checksum(ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let udp = &mut head[34..42];
        udp[0..2].copy_from_slice(&self.source.port().to_be_bytes());
        udp[2..4].copy_from_slice(&self.sink.port().to_be_bytes());
        udp[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
        head
    }
}

/// The checksum of an IPv4 header, RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_what_a_receiver_takes() {
        let (source, sink) = ("10.0.0.2:7000".parse().unwrap(), "10.0.0.1:9".parse().unwrap());
        let head = Frame { from_mac: [2; 6], to_mac: [1; 6], source, sink }.head(18);
        assert_eq!(head[..14], [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0]);
        // Over a header with its checksum in place the checksum is 0.
        assert_eq!(checksum(&head[14..34]), 0);
        assert_eq!((head[16..18].to_vec(), head[38..40].to_vec()), (vec![0, 46], vec![0, 26]));
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // The example of RFC 1071, section 3: the sum of these words is ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }
}
