//! What the NATS load is given, in recipes.

use machine::{Class, Fault};

use crate::drive::{Keys, driven_load};
use crate::workloads::payload::MARK_BYTES;

driven_load! {
    /// The NATS load of a recipe: a message out through a subject, the same message back.
    pub struct NatsLoad {
        id: "nats",
        connections: 1,
        keep_alive: true,
        /// Subjects of each connection, each with a subscription of its own and one message on its way.
        pub subjects: u32 = 1,
        /// Size of a message, bytes.
        pub message_bytes: u32 = MARK_BYTES as u32,
        /// User to log in as, where the server asks who connects.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub user: Option<String> = None,
        /// The user's password. No list of processes, ledger or report shows it; a case keeps it in its `secrets.toml`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub password: Option<String> = None,
    }
}

/// More subscriptions of one connection than any client has.
const MOST_SUBJECTS: u32 = 65_536;
/// Servers take 1 MiB as they stand, and no more than 64 MiB by any setting; half of that is as much as an answer may have here.
const MOST_MESSAGE_BYTES: u32 = 32 << 20;

impl NatsLoad {
    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        self.pace().check(self.id())?;
        let fault = |key: &str, cause: String, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("nats load: {key}"), cause, remedy))
        };
        for (key, value, least, most) in [
            ("subjects", self.subjects, 1, MOST_SUBJECTS),
            ("message_bytes", self.message_bytes, MARK_BYTES as u32, MOST_MESSAGE_BYTES),
        ] {
            if !(least..=most).contains(&value) {
                return fault(key, format!("{value} is out of range"), &format!("choose {least} to {most}"));
            }
        }
        if self.password.is_some() && self.user.is_none() {
            return fault("password", "there is no user for it".into(), "give `user` too");
        }
        match self.keep_alive {
            true => Ok(()),
            false => fault("keep_alive", "a subscription is of its connection".into(), "leave it out"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_values_are_named() {
        let default = NatsLoad::default();
        default.check().unwrap();
        let bad = [
            (NatsLoad { subjects: 0, ..default.clone() }, "subjects"),
            (NatsLoad { subjects: 65_537, ..default.clone() }, "subjects"),
            (NatsLoad { message_bytes: 11, ..default.clone() }, "message_bytes"),
            (NatsLoad { message_bytes: 64 << 20, ..default.clone() }, "message_bytes"),
            (NatsLoad { connections: 0, ..default.clone() }, "connections"),
            (NatsLoad { keep_alive: false, ..default.clone() }, "keep_alive"),
            (NatsLoad { password: Some("secret".into()), ..default }, "password"),
        ];
        for (load, key) in bad {
            let fault = load.check().unwrap_err();
            assert!(fault.to_string().contains(&format!("nats load: {key}")), "{fault}");
        }
    }
}
