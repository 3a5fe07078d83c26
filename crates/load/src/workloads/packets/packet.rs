//! What a packet carries: the run, its number, and a pattern.

/// Bytes of Ethernet, IPv4 and UDP in front of what a packet carries.
pub(crate) const HEADER_BYTES: usize = 14 + 20 + 8;

/// Bytes of run and number.
pub(crate) const HEAD_BYTES: usize = 16;

/// How the packets of one run look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    run: u64,
    filling: Vec<u8>,
}

/// Why a packet is none of the run's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Strange {
    /// It is of another run: one that ended while it was under way.
    OtherRun,
    /// It is of this run, and its bytes are not as they were sent.
    Changed(String),
}

impl Form {
    /// Of packets that carry so many bytes, at least [`HEAD_BYTES`].
    pub(crate) fn new(run: u64, payload_bytes: usize) -> Self {
        Self { run, filling: (HEAD_BYTES..payload_bytes).map(|at| at as u8).collect() }
    }

    /// What its packets begin with.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    /// What a packet carries, bytes.
    pub(crate) fn payload_bytes(&self) -> usize {
        HEAD_BYTES + self.filling.len()
    }

    /// A packet with number 0.
    pub(crate) fn first(&self) -> Vec<u8> {
        let mut payload = self.run.to_le_bytes().to_vec();
        payload.extend_from_slice(&0u64.to_le_bytes());
        payload.extend_from_slice(&self.filling);
        payload
    }

    /// Gives a packet that [`first`](Self::first) made another number.
    pub(crate) fn number(payload: &mut [u8], number: u64) {
        payload[8..HEAD_BYTES].copy_from_slice(&number.to_le_bytes());
    }

    /// The number of a packet that came.
    pub(crate) fn judge(&self, payload: &[u8]) -> Result<u64, Strange> {
        let Some((run, rest)) = payload.split_first_chunk::<8>() else { return Err(Strange::OtherRun) };
        if *run != self.run.to_le_bytes() {
            return Err(Strange::OtherRun);
        }
        match rest.split_first_chunk::<8>() {
            Some((number, filling)) if filling == self.filling => Ok(u64::from_le_bytes(*number)),
            Some((number, filling)) => {
                let (number, bytes) = (u64::from_le_bytes(*number), filling.len() + HEAD_BYTES);
                Err(Strange::Changed(match filling.len() == self.filling.len() {
                    true => format!("packet {number} came with other bytes than it had"),
                    false => {
                        format!(
                            "packet {number} came with {bytes} bytes in place of {}",
                            self.payload_bytes()
                        )
                    }
                }))
            }
            None => Err(Strange::Changed(format!("a packet came with {} bytes", payload.len()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_known_by_run_number_and_pattern() {
        let form = Form::new(7, 18);
        let mut packet = form.first();
        assert_eq!(packet.len(), 18);
        Form::number(&mut packet, 300);
        assert_eq!(form.judge(&packet), Ok(300));
        assert_eq!(Form::new(8, 18).judge(&packet), Err(Strange::OtherRun));
        assert!(matches!(form.judge(&packet[..17]), Err(Strange::Changed(why)) if why.contains("17 bytes")));
        assert!(matches!(form.judge(&packet[..9]), Err(Strange::Changed(why)) if why.contains("9 bytes")));
        packet[17] ^= 1;
        assert!(matches!(form.judge(&packet), Err(Strange::Changed(why)) if why.contains("other bytes")));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
            let _ = Form::new(0, 20).judge(&bytes);
        }
    }
}
