//! /proc/PID/stat and /proc/PID/task/TID/stat: one line about a process or thread (proc_pid_stat(5), fs/proc/array.c).

use super::{Malformed, Oddities, decimal, decimal_of, decimal32};

/// The fields that are used here, with their numbers in proc_pid_stat(5). What the kernel did not print, or is no number, is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PidStat<'a> {
    /// Process or thread number (1).
    pub pid: u32,
    /// Name (2), without the parentheses; it may itself hold blanks, parentheses and line ends.
    pub comm: &'a str,
    /// State (3): `R`, `S`, `D`, `Z`, ...
    pub state: char,
    /// Parent process (4).
    pub ppid: u32,
    /// Process group (5); `None` where the kernel prints -1, of a thread that is just ending.
    pub group: Option<u32>,
    /// Flags of the task (9): PF_* of include/linux/sched.h; see [`PidStat::is_kernel_thread`].
    pub flags: Option<u64>,
    /// Page faults for which nothing had to be read (10).
    pub minor_faults: Option<u64>,
    /// Page faults for which something had to be read, from a file or from swap (12).
    pub major_faults: Option<u64>,
    /// CPU time in user mode (14), ticks of USER_HZ.
    pub user_ticks: Option<u64>,
    /// CPU time in the kernel (15), ticks of USER_HZ.
    pub system_ticks: Option<u64>,
    /// Nice value (19), which a real-time thread has too.
    pub nice: Option<i32>,
    /// Threads of the process (20).
    pub threads: Option<u64>,
    /// Start time after boot (22), ticks of USER_HZ. Detects a reused number.
    pub start_time_ticks: u64,
    /// CPU that it last ran on (39); `None` before Linux 2.2.8.
    pub processor: Option<u32>,
    /// Real-time priority (40), 0 for the other policies.
    pub realtime_priority: Option<i32>,
    /// Scheduling policy (41): SCHED_* of include/uapi/linux/sched.h.
    pub policy: Option<u32>,
    /// Time spent waiting for block I/O (42), ticks of USER_HZ; 0 also where delay accounting is off.
    pub block_io_ticks: Option<u64>,
    /// Time spent running a virtual CPU (43), ticks of USER_HZ.
    pub guest_ticks: Option<u64>,
    /// Fields that could not be read.
    pub odd: Oddities,
}

/// Fields behind the name, 3 to 52; a kernel may add some.
const FIELDS: usize = 50;

/// Parses the file.
///
/// # Errors
/// What says which process it is cannot be read: its number, name, state, parent or start time.
pub fn parse(text: &str) -> Result<PidStat<'_>, Malformed> {
    let bad = |what: &str, why: &str| Malformed::new(1, what, why);
    let open = text.find('(').ok_or_else(|| bad(text, "there is no '('"))?;
    // The name may hold ')': the last one closes it, since nothing behind it has parentheses.
    let close = text.rfind(')').filter(|close| *close > open).ok_or_else(|| bad(text, "there is no ')'"))?;
    let pid = decimal32(1, "pid (field 1)", &text[..open])?;
    let mut words: Vec<&str> = Vec::with_capacity(FIELDS);
    words.extend(text[close + 1..].split_ascii_whitespace());
    let fields = Fields(&words);
    let state = fields
        .word(3)
        .and_then(|word| word.chars().next())
        .ok_or_else(|| bad("state (field 3)", "is not there"))?;
    let ppid = decimal32(1, "ppid (field 4)", fields.word(4).unwrap_or_default())?;
    let start_time_ticks = fields.number(22)?;
    let mut odd = Oddities::default();
    Ok(PidStat {
        pid,
        comm: &text[open + 1..close],
        state,
        ppid,
        group: fields.word(5).and_then(|word| word.parse().ok()),
        flags: fields.printed(9, &mut odd),
        minor_faults: fields.printed(10, &mut odd),
        major_faults: fields.printed(12, &mut odd),
        user_ticks: odd.keep(fields.number(14)),
        system_ticks: odd.keep(fields.number(15)),
        nice: fields.signed(19, &mut odd),
        threads: odd.keep(fields.number(20)),
        start_time_ticks,
        processor: fields.printed32(39, &mut odd),
        realtime_priority: fields.signed(40, &mut odd),
        policy: fields.printed32(41, &mut odd),
        block_io_ticks: fields.printed(42, &mut odd),
        guest_ticks: fields.printed(43, &mut odd),
        // Last: the fields above add to it.
        odd,
    })
}

/// The words behind the name, by their numbers in the manual page.
struct Fields<'a>(&'a [&'a str]);

impl<'a> Fields<'a> {
    fn word(&self, field: usize) -> Option<&'a str> {
        // Field 3 is the first behind the name.
        self.0.get(field.checked_sub(3)?).copied()
    }

    /// A number that every kernel prints.
    fn number(&self, field: usize) -> Result<u64, Malformed> {
        decimal_of(1, format_args!("field {field}"), self.word(field))
    }

    /// A number that the kernel may not print.
    fn printed(&self, field: usize, odd: &mut Oddities) -> Option<u64> {
        odd.keep(decimal(1, format_args!("field {field}"), self.word(field)?))
    }

    /// The same of 32 bits.
    fn printed32(&self, field: usize, odd: &mut Oddities) -> Option<u32> {
        odd.keep(decimal32(1, format_args!("field {field}"), self.word(field)?))
    }

    /// The same with a sign.
    fn signed(&self, field: usize, odd: &mut Oddities) -> Option<i32> {
        let number = self.word(field)?.parse();
        odd.keep(
            number.map_err(|_| Malformed::new(1, format_args!("field {field}"), "is not a number in range")),
        )
    }
}

/// A thread of the kernel itself (PF_KTHREAD of include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;
/// User space may not change its affinity: the kernel has bound it (PF_NO_SETAFFINITY, the same bit as PF_THREAD_BOUND
/// before 3.10).
const NO_SETAFFINITY: u64 = 0x0400_0000;

impl PidStat<'_> {
    /// Whether it is a thread of the kernel, without memory of its own.
    pub fn is_kernel_thread(&self) -> bool {
        self.flags.is_some_and(|flags| flags & KERNEL_THREAD != 0)
    }

    /// Whether the kernel has bound it to its CPUs and refuses to set others; `None` where the flags are not reported.
    pub fn no_setaffinity(&self) -> Option<bool> {
        self.flags.map(|flags| flags & NO_SETAFFINITY != 0)
    }

    /// Whether this thread has exited and only waits to be reaped.
    pub fn has_exited(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Whether the process has ended and only waits to be reaped: its first thread has exited, and no other thread of it goes on.
    pub fn ended(&self) -> bool {
        self.has_exited() && self.threads.is_some_and(|threads| threads <= 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAIL: &str = "S 7915 7915 6205 0 -1 4194304 97 0 0 0 31 7 0 0 20 0 3 0 106623 3133440 356 18446744073709551615 1 1 1 0 0 0 0 0 0 0 \
        0 0 17 1 0 0 5 2 0 1 1 1 1 1 1 1 0\n";

    #[test]
    fn the_fields_by_their_numbers() {
        let text = format!("7925 (cat) {TAIL}");
        let stat = parse(&text).unwrap();
        assert_eq!((stat.pid, stat.comm, stat.state, stat.ppid), (7925, "cat", 'S', 7915));
        assert_eq!((stat.minor_faults, stat.major_faults), (Some(97), Some(0)));
        assert_eq!((stat.user_ticks, stat.system_ticks, stat.threads), (Some(31), Some(7), Some(3)));
        assert_eq!((stat.start_time_ticks, stat.processor), (106623, Some(1)));
        assert_eq!((stat.block_io_ticks, stat.guest_ticks), (Some(5), Some(2)));
        assert_eq!((stat.group, stat.nice), (Some(7915), Some(0)));
        assert_eq!((stat.realtime_priority, stat.policy), (Some(0), Some(0)));
    }

    #[test]
    fn a_name_may_hold_anything() {
        for comm in ["tmux: server", "(sd-pam)", "a) R 1 (b", ")", "", "x\ny"] {
            let text = format!("1 ({comm}) {TAIL}");
            let stat = parse(&text).unwrap();
            assert_eq!((stat.comm, stat.ppid), (comm, 7915), "{comm:?}");
        }
    }

    #[test]
    fn a_real_time_thread_and_one_that_is_just_ending() {
        let fifo = format!("7925 (cat) {TAIL}")
            .replace(" 20 0 3 ", " -41 -5 3 ")
            .replace("0 17 1 0 0 5", "0 17 1 40 1 5");
        let stat = parse(&fifo).unwrap();
        assert_eq!((stat.nice, stat.realtime_priority, stat.policy), (Some(-5), Some(40), Some(1)));
        let ending = format!("7925 (cat) {TAIL}").replace("S 7915 7915", "X 7915 -1");
        assert_eq!(parse(&ending).unwrap().group, None);
        assert!(parse(&fifo).unwrap().odd.is_empty());
    }

    #[test]
    fn a_process_whose_first_thread_has_left_goes_on() {
        let zombie = format!("7925 (cat) {TAIL}").replace("S 7915", "Z 7915");
        assert!(parse(&zombie).unwrap().has_exited() && !parse(&zombie).unwrap().ended());
        assert!(parse(&zombie.replace(" 20 0 3 ", " 20 0 1 ")).unwrap().ended());
    }

    #[test]
    fn flags_distinguish_kernel_threads_and_bound_ones() {
        let flags = |flags: u64| format!("7925 (cat) {TAIL}").replace(" 4194304 ", &format!(" {flags} "));
        let of = |text: &str| {
            let stat = parse(text).unwrap();
            (stat.is_kernel_thread(), stat.no_setaffinity())
        };
        // ksoftirqd/0, rcu_preempt and cat as Linux 6.18 prints them; a torn line has neither.
        assert_eq!(of(&flags(69_238_848)), (true, Some(true)));
        assert_eq!(of(&flags(2_129_984)), (true, Some(false)));
        assert_eq!(of(&flags(4_194_304)), (false, Some(false)));
        assert_eq!(of(&flags(1).replace(" 1 97 0", " x 97 0")), (false, None));
    }

    #[test]
    fn malformed_lines_name_the_field() {
        let torn = parse("7925 (cat) S 7915 7915").unwrap_err();
        assert_eq!((torn.what.as_str(), torn.why.as_str()), ("field 22", "is not there"));
        for bad in
            ["", "7925", "7925 cat S", "(cat) S 1", "7925 )cat( S", "7925 (cat)", "99999999999 (cat) S 1 1"]
        {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        assert!(parse(&format!("7925 (cat) {}", TAIL.replace("7915", "-1"))).is_err());
    }

    #[test]
    fn an_odd_field_is_missing_by_itself() {
        let sound = format!("7925 (cat) {TAIL}");
        let sound = parse(&sound).unwrap();
        let text =
            format!("7925 (cat) {TAIL}").replace(" 31 7 ", " -31 7 ").replace("0 17 1 0 0 5", "0 17 1 x 0 5");
        let stat = parse(&text).unwrap();
        assert_eq!((stat.user_ticks, stat.realtime_priority), (None, None));
        let odd: Vec<&str> = stat.odd.first().iter().map(|odd| odd.what.as_str()).collect();
        assert_eq!(odd, ["field 14", "field 40"]);
        let healed = PidStat {
            user_ticks: sound.user_ticks,
            realtime_priority: sound.realtime_priority,
            odd: Oddities::default(),
            ..stat
        };
        assert_eq!(healed, sound);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([0-9]{1,3} |[()]|S |.){0,80}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_name_and_times_are_read_back(comm in "[^\u{0}]{0,15}", user in any::<u64>(), start in any::<u64>()) {
            let text = format!("1 ({comm}) R 0 1 1 0 -1 0 0 0 0 0 {user} 4 0 0 20 0 1 0 {start} 0 0 0");
            let stat = parse(&text).unwrap();
            prop_assert_eq!((stat.comm, stat.user_ticks, stat.start_time_ticks), (comm.as_str(), Some(user), start));
            prop_assert_eq!(stat.processor, None);
        }
    }
}
