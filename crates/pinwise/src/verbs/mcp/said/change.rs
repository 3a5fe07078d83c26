//! A change between two arms in words, in the unit of its explanation.

use report::number;
use serde::Deserialize;

/// What times are divided by.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// A request of a closed loop, us.
    Request,
    /// A request at a fixed rate, us.
    RequestAtFixedRate,
    /// The window, as shares.
    Window,
}

/// From the arm that it is held against to the arm; the interval is that of the difference.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Change {
    /// In the arm that it is held against.
    pub from: Option<f64>,
    /// In the arm.
    pub to: Option<f64>,
    /// Of the difference, 95 %.
    pub interval: Option<(f64, f64)>,
}

impl Basis {
    /// What times are of.
    pub fn of_what(self) -> &'static str {
        match self {
            Self::Request => "time of a request and thread",
            Self::RequestAtFixedRate => "time of CPUs a request and thread, at a fixed rate",
            Self::Window => "share of the window",
        }
    }

    fn value(self, value: f64) -> String {
        match self {
            Self::Request | Self::RequestAtFixedRate => format!("{} us", number::figure(value)),
            Self::Window => number::share(value),
        }
    }
}

impl Change {
    /// `from 20.10 us to 23.20 us, a difference of 3.100 us [2.900 us, 3.400 us]`.
    pub fn words(self, basis: Basis) -> String {
        let (Some(from), Some(to)) = (self.from, self.to) else { return "not known".into() };
        let interval = match self.interval {
            Some((low, high)) => format!("[{}, {}]", basis.value(low), basis.value(high)),
            None => "[no interval]".into(),
        };
        format!(
            "from {} to {}, a difference of {} {interval}",
            basis.value(from),
            basis.value(to),
            basis.value(to - from)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_its_unit_and_its_interval() {
        let change = Change { from: Some(20.1), to: Some(23.2), interval: Some((2.9, 3.4)) };
        let words = "from 20.10 us to 23.20 us, a difference of 3.100 us [2.900 us, 3.400 us]";
        assert_eq!(change.words(Basis::Request), words);
        let shares = Change { from: Some(0.2), to: Some(0.5), interval: None };
        assert_eq!(shares.words(Basis::Window), "from 20 % to 50 %, a difference of 30 % [no interval]");
        assert_eq!(Change { to: None, ..shares }.words(Basis::Window), "not known");
    }
}
