//! The one line of /proc/PID/stat and /proc/PID/task/TID/stat (proc_pid_stat(5)).

/// What that line tells about a process or thread, as far as pinwise uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStat {
    /// Process or thread number (field 1).
    pub id: u32,
    /// Name (field 2), without its parentheses; may itself hold blanks and parentheses.
    pub comm: String,
    /// State letter (field 3): `R`, `S`, `D`, `T`, `Z` ...
    pub state: char,
    /// Parent process (field 4).
    pub parent: u32,
    /// Process group (field 5).
    pub group: u32,
    /// Nice value (field 19).
    pub nice: i32,
    /// How many threads the process has (field 20).
    pub threads: u32,
    /// Start in clock ticks since boot (field 22).
    pub start_time_ticks: u64,
    /// Real-time priority, 0 for the other policies (field 40).
    pub realtime_priority: i32,
    /// Scheduling policy number, SCHED_* of sched.h (field 41).
    pub policy: u32,
}

impl ThreadStat {
    /// Reads the line; the error says which field is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (id, rest) = text.trim().split_once(" (").ok_or("no '(' after the number")?;
        let (comm, rest) = rest.rsplit_once(')').ok_or("no ')' after the name")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Ok(Self {
            id: id.parse().map_err(|_| format!("'{id}' is no number"))?,
            comm: comm.to_string(),
            state: fields.first().and_then(|s| s.chars().next()).ok_or("field 3 is missing")?,
            parent: field(&fields, 4)?,
            group: field(&fields, 5)?,
            nice: field(&fields, 19)?,
            threads: field(&fields, 20)?,
            start_time_ticks: field(&fields, 22)?,
            realtime_priority: field(&fields, 40)?,
            policy: field(&fields, 41)?,
        })
    }

    /// Whether it has ended and only waits to be reaped: state `Z` or `X`, and no other thread of it goes on (a
    /// process whose first thread has left is in state `Z` too).
    pub fn ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x') && self.threads <= 1
    }
}

/// Field `number` as the manual page counts; the fields after the name begin with number 3.
fn field<T: std::str::FromStr>(fields: &[&str], number: usize) -> Result<T, String> {
    let text = fields.get(number - 3).ok_or_else(|| format!("field {number} is missing"))?;
    text.parse().map_err(|_| format!("field {number}, '{text}', is no number in range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDIS: &str = "612 (io (thd) 1) S 1 612 600 0 -1 4194368 917 0 0 0 12 34 0 0 20 -5 5 0 \
        8843221 70881280 1834 18446744073709551615 1 1 0 0 0 0 0 4097 17642 0 0 0 -1 1 40 1 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let stat = ThreadStat::parse(REDIS).unwrap();
        assert_eq!((stat.id, stat.comm.as_str(), stat.state), (612, "io (thd) 1", 'S'));
        assert_eq!((stat.parent, stat.group, stat.nice), (1, 612, -5));
        assert_eq!((stat.start_time_ticks, stat.realtime_priority, stat.policy), (8_843_221, 40, 1));
        assert_eq!(stat.threads, 5);
        assert!(!stat.ended());
        assert!(!ThreadStat::parse(&REDIS.replace(") S", ") Z")).unwrap().ended());
        assert!(ThreadStat::parse(&REDIS.replace(") S", ") Z").replace("-5 5 0", "-5 1 0")).unwrap().ended());
    }

    #[test]
    fn malformed_lines_say_which_field() {
        for (text, why) in [
            ("", "'('"),
            ("612 (redis", "')'"),
            ("x (redis) S 1", "'x'"),
            ("612 (redis) S 1 612 600", "field 19"),
            (&REDIS.replace("8843221", "8843221x"), "field 22"),
        ] {
            let error = ThreadStat::parse(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,80}") {
            let _ = ThreadStat::parse(&text);
            let _ = ThreadStat::parse(&format!("1 ({text})"));
        }
    }
}
