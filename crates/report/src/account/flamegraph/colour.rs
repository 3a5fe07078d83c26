//! Colours of frames, by what the thread did: warm on a CPU, cool while it waits, darker in the kernel.

use probe::stacks::Doing;

/// Red, green and blue.
type Colour = [u32; 3];

/// Threads, and all of them together.
const BELOW: Colour = [0xe4, 0xe4, 0xe0];

/// What is not known.
const UNKNOWN: Colour = [0xc8, 0xc8, 0xc4];

/// What is in the kernel is so bright, in hundredths.
const KERNEL: u32 = 82;

/// Colours by what a thread did, each with its words: for the legend.
pub(super) const LEGEND: [(Doing, &str); 4] = [
    (Doing::OnCpu, "on a CPU"),
    (Doing::InRunQueue, "waits for a CPU"),
    (Doing::Asleep, "asleep"),
    (Doing::Blocked, "blocked"),
];

/// The plain colour of what a thread did.
pub(super) fn of_state(doing: Doing) -> String {
    hex(base(doing), 100)
}

/// The colour of a frame: functions of other names have other shades of it, so that neighbours differ.
pub(super) fn of_frame(name: &str, state: &str, is_of_kernel: bool) -> String {
    let all = [
        Doing::OnCpu,
        Doing::Preempted,
        Doing::InRunQueue,
        Doing::Throttled,
        Doing::Asleep,
        Doing::Blocked,
        Doing::NotTold,
    ];
    let colour = all.into_iter().find(|doing| doing.words() == state).map_or(BELOW, base);
    let shade = 100 - 2 * (hash(name) % 5);
    hex(colour, if is_of_kernel { shade * KERNEL / 100 } else { shade })
}

fn base(doing: Doing) -> Colour {
    match doing {
        Doing::OnCpu => [0xf2, 0xa0, 0x5a],
        Doing::Preempted | Doing::InRunQueue | Doing::Throttled => [0xc3, 0xa5, 0xe0],
        Doing::Asleep => [0x8f, 0xbd, 0xea],
        Doing::Blocked => [0x74, 0xcb, 0xbd],
        Doing::NotTold => UNKNOWN,
    }
}

fn hex(colour: Colour, hundredths: u32) -> String {
    let [red, green, blue] = colour.map(|part| part * hundredths / 100);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// FNV-1a: the same in every run, so that a function keeps its shade.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red_and_blue(colour: &str) -> (u32, u32) {
        let part = |at: usize| u32::from_str_radix(&colour[at..at + 2], 16).unwrap();
        (part(1), part(5))
    }

    #[test]
    fn on_a_cpu_is_warm_waiting_is_cool_and_the_kernel_is_darker() {
        for name in ["main", "parse", "f", "g", "h"] {
            let (red, blue) = red_and_blue(&of_frame(name, "on a CPU", false));
            assert!(red > blue);
            assert!(red > red_and_blue(&of_frame(name, "on a CPU", true)).0);
            for state in ["asleep", "blocked", "preempted", "in the run queue", "throttled"] {
                let (red, blue) = red_and_blue(&of_frame(name, state, false));
                assert!(blue > red, "{state}");
            }
        }
        assert_eq!(of_state(Doing::OnCpu), "#f2a05a");
        assert_eq!(of_frame("x", "", false).len(), 7);
    }
}
