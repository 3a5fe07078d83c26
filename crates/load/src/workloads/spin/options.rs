//! What the spinning task's load is given.

use machine::{Class, Fault};

use crate::drive::{Keys, driven_load};

driven_load! {
    /// The load of a spinning task: it asks for what was taken, and drives nothing.
    pub struct SpinLoad {
        id: "spin",
        connections: 1,
        keep_alive: true,
    }
}

impl SpinLoad {
    /// Fails, naming the key, when a value makes no sense: a spinning task has no requests to send.
    pub fn check(&self) -> Result<(), Fault> {
        let pace = self.pace();
        pace.check(self.id())?;
        let given = [
            ("connections", pace.connections != 1),
            ("keep_alive", !pace.keep_alive),
            ("rate_per_s", pace.rate_per_s.is_some()),
            ("max_requests", pace.max_requests.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((key, _)) => {
                let cause = "a spinning task is sent no requests";
                Err(Fault::new(Class::Usage, format!("spin load: {key}"), cause, "leave it out"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_requests_is_refused() {
        SpinLoad::default().check().unwrap();
        for (load, key) in [
            (SpinLoad { connections: 2, ..SpinLoad::default() }, "connections"),
            (SpinLoad { rate_per_s: Some(5.0), ..SpinLoad::default() }, "rate_per_s"),
            (SpinLoad { seconds: 0.0, ..SpinLoad::default() }, "seconds"),
        ] {
            assert!(load.check().unwrap_err().to_string().contains(key));
        }
    }
}
