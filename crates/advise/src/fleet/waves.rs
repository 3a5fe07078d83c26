//! Waves of a rollout: how many of the hosts have the plan after each of them.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use machine::wording::counted;

/// Most waves: more is a mistake.
const MOST_WAVES: usize = 100;

/// What a wave has to look like, for messages.
const FORM: &str = "give numbers of hosts and percentages that increase, as 1,10%,100%";

/// How many hosts have the plan when a wave is over, those of earlier waves included.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reach {
    /// So many, at least 1.
    Hosts(usize),
    /// This share of all, above 0, to 100 %, rounded up.
    Percent(f64),
}

/// The waves of a rollout, `1,10%,100%`: after the first, one host has the plan; after the second, a tenth of all; and so on.
#[derive(Debug, Clone, PartialEq)]
pub struct Waves(Vec<Reach>);

impl Waves {
    /// The hosts of each wave, by their place among so many. A wave that reaches no further than the one before has no hosts of its own and
    /// is left out: 10 % of five hosts are one. After the last wave there may be hosts that none has reached.
    ///
    /// # Errors
    /// For so many hosts a wave reaches less far than the one before; what is wrong, in words.
    pub fn of(&self, hosts: usize) -> Result<Vec<Range<usize>>, String> {
        let mut waves = Vec::new();
        let mut reached = 0;
        for reach in &self.0 {
            let until = reach.among(hosts);
            if until < reached {
                let of = counted(hosts, "host");
                return Err(format!("of {of}, {reach} is less than the wave before it reaches: {FORM}"));
            }
            if until > reached {
                waves.push(reached..until);
            }
            reached = until;
        }
        Ok(waves)
    }
}

impl Reach {
    fn among(self, hosts: usize) -> usize {
        match self {
            Self::Hosts(number) => number.min(hosts),
            // A share that is a whole number stays one, whatever its last digit became.
            Self::Percent(percent) => {
                let share = (percent * hosts as f64 / 100.0 - 1e-9).ceil().max(1.0);
                (share as usize).min(hosts)
            }
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let refused = || format!("'{text}' is not a wave: {FORM}");
        match text.strip_suffix('%') {
            Some(number) => {
                let percent: f64 = number.trim().parse().map_err(|_| refused())?;
                let is_share = percent > 0.0 && percent <= 100.0;
                is_share.then_some(Self::Percent(percent)).ok_or_else(refused)
            }
            None => {
                let number: usize = text.parse().map_err(|_| refused())?;
                (number > 0).then_some(Self::Hosts(number)).ok_or_else(refused)
            }
        }
    }

    /// Whether this reaches further than `earlier`, where that can be seen before the number of hosts is known.
    fn can_follow(self, earlier: Self) -> bool {
        match (earlier, self) {
            (Self::Hosts(earlier), Self::Hosts(later)) => earlier < later,
            (Self::Percent(earlier), Self::Percent(later)) => earlier < later,
            _ => true,
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts(number) => write!(f, "{number}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl FromStr for Waves {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let waves: Vec<Reach> =
            text.split(',').map(|word| Reach::parse(word.trim())).collect::<Result<_, _>>()?;
        if waves.len() > MOST_WAVES {
            return Err(format!("there are more than {MOST_WAVES} waves: {FORM}"));
        }
        for (at, later) in waves.iter().enumerate() {
            let before = waves.iter().take(at).find(|earlier| !later.can_follow(**earlier));
            if let Some(earlier) = before {
                return Err(format!("{later} does not reach further than {earlier}: {FORM}"));
            }
        }
        Ok(Self(waves))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str, hosts: usize) -> Vec<Range<usize>> {
        text.parse::<Waves>().unwrap().of(hosts).unwrap()
    }

    #[test]
    fn numbers_and_shares_say_how_many_hosts_have_the_plan_after_each_wave() {
        assert_eq!(of("1,10%,100%", 100), [0..1, 1..10, 10..100]);
        assert_eq!(of("2, 4", 4), [0..2, 2..4]);
        // Rounded up; and the last wave need not reach all.
        assert_eq!(of("50%", 3).as_slice(), std::slice::from_ref(&(0..2)));
        assert_eq!(of("7%,100%", 100), [0..7, 7..100]);
    }

    #[test]
    fn a_wave_without_hosts_of_its_own_is_left_out() {
        assert_eq!(of("1,10%,100%", 5), [0..1, 1..5]);
        assert_eq!(of("1,10%,100%", 1).as_slice(), std::slice::from_ref(&(0..1)));
        assert!(of("1,100", 0).is_empty());
    }

    #[test]
    fn what_does_not_increase_and_what_is_none_is_refused_with_the_form() {
        for bad in
            ["", "0", "0%", "101%", "-1", "x", "1,,2", "2,1", "2,2", "50%,50%", "50%,1,20%", "nan%", "inf%"]
        {
            let why = bad.parse::<Waves>().unwrap_err();
            assert!(why.contains("1,10%,100%"), "{bad}: {why}");
        }
        let mixed: Waves = "10%,5".parse().unwrap();
        assert!(mixed.of(100).unwrap_err().contains("of 100 hosts, 5 is less"));
        assert_eq!(mixed.of(20).unwrap(), [0..2, 2..5]);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9%,. einfa-]{0,24}", hosts in 0_usize..2_000) {
            if let Ok(waves) = text.parse::<Waves>() {
                let _ = waves.of(hosts);
            }
        }

        #[test]
        fn waves_follow_each_other_without_a_gap_and_none_is_empty(
            numbers in prop::collection::btree_set(1_usize..500, 1..6), hosts in 1_usize..500,
        ) {
            let text = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let waves = of(&text, hosts);
            let mut reached = 0;
            for wave in &waves {
                prop_assert_eq!(wave.start, reached);
                prop_assert!(wave.end > wave.start);
                reached = wave.end;
            }
            prop_assert_eq!(reached, hosts.min(*numbers.last().unwrap()));
        }
    }
}
