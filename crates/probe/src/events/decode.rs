//! Events out of the bytes that the kernel's programs write (`bpf/event_records.h`).

use super::event::{Comm, Event, Left, Task, What};
use crate::account::Source;
use crate::bpf::{
    EventHead, EventStretch, EventSwitch, EventWake, NOT_HANDLED, Record, event_flags as flags,
    event_kind as kind,
};

/// Reads one event; `None` where the bytes are none of this build.
pub(super) fn decode(bytes: &[u8]) -> Option<Event> {
    let head = EventHead::from_bytes(bytes)?;
    let what = match head.kind {
        kind::SWITCH..=kind::BORN => about_a_task(&EventSwitch::from_bytes(bytes)?)?,
        kind::WAKE => {
            let EventWake { waker, to_cpu, .. } = EventWake::from_bytes(bytes)?;
            let waker = (waker != 0).then_some(waker);
            What::Woken { tid: head.number, priority: head.detail, waker, to_cpu }
        }
        kind::INTERRUPT => {
            let ns = EventStretch::from_bytes(bytes)?.ns;
            let source = *Source::ALL.get(usize::from(head.detail & !NOT_HANDLED))?;
            let line = (source == Source::Device).then_some(head.number);
            What::Interrupt { source, line, handled: head.detail & NOT_HANDLED == 0, ns }
        }
        kind::IDLE => What::Idle { state: head.number, ns: EventStretch::from_bytes(bytes)?.ns },
        kind::LOST => What::Lost {
            unreported: (head.number != 0).then_some(head.number),
            ns: EventStretch::from_bytes(bytes)?.ns,
        },
        kind::FREQUENCY => What::Frequency { khz: head.number },
        kind::PAGE_FAULT => What::PageFault { tid: head.number },
        _ => return None,
    };
    Some(Event { at_ns: head.at_ns, cpu: u32::from(head.cpu), what })
}

fn about_a_task(event: &EventSwitch) -> Option<What> {
    let has = |flag: u32| event.flags & flag != 0;
    let task = Task {
        tid: event.head.number,
        pid: event.tgid,
        comm: Comm(event.comm),
        priority: event.head.detail,
        of_kernel: has(flags::NEXT_OF_KERNEL),
        of_target: has(flags::NEXT_OF_TARGET),
    };
    let left = match (has(flags::PREV_THROTTLED), has(flags::PREV_PREEMPTED)) {
        (true, _) => Left::Throttled,
        (false, true) => Left::Preempted,
        (false, false) => Left::Waits(event.prev_state),
    };
    let prev = event.prev_tid;
    Some(match event.head.kind {
        kind::SWITCH => What::Switch { prev, left, next: task, reported: !has(flags::NEXT_NOT_REPORTED) },
        kind::UNREPORTED => What::Unreported { prev, next: task },
        kind::CAME => What::Came(task),
        kind::TASK => What::Met(task),
        kind::BORN => What::Born { parent: prev, task },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: u8 = Source::Device as u8;

    /// A record of the kernel, by hand.
    fn head(number: u32, cpu: u16, kind: u8, detail: u8) -> Vec<u8> {
        let mut bytes = 1_000u64.to_ne_bytes().to_vec();
        bytes.extend(number.to_ne_bytes());
        bytes.extend(cpu.to_ne_bytes());
        bytes.extend([kind, detail]);
        bytes
    }

    fn switch(kind: u8, flags: u32) -> Vec<u8> {
        let mut bytes = head(8, 3, kind, 120);
        for word in [7u32, 2, 6, flags] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(Comm::from("worker").0);
        bytes
    }

    #[test]
    fn a_switch_tells_who_left_how_and_who_came() {
        let event = decode(&switch(kind::SWITCH, flags::NEXT_OF_TARGET)).unwrap();
        let next = Task {
            tid: 8,
            pid: 6,
            comm: Comm::from("worker"),
            priority: 120,
            of_kernel: false,
            of_target: true,
        };
        let what = What::Switch { prev: 7, left: Left::Waits(2), next, reported: true };
        assert_eq!(event, Event { at_ns: 1_000, cpu: 3, what });
        let left = |flags| match decode(&switch(kind::SWITCH, flags)).unwrap().what {
            What::Switch { left, reported, .. } => (left, reported),
            other => panic!("{other:?}"),
        };
        assert_eq!(left(flags::PREV_PREEMPTED | flags::NEXT_NOT_REPORTED), (Left::Preempted, false));
        assert_eq!(left(flags::PREV_PREEMPTED | flags::PREV_THROTTLED), (Left::Throttled, true));
    }

    #[test]
    fn stretches_have_their_length_and_devices_their_line() {
        let stretch = |kind, detail| [head(32, 0, kind, detail), 500u64.to_ne_bytes().to_vec()].concat();
        let device = decode(&stretch(kind::INTERRUPT, DEVICE)).unwrap().what;
        assert_eq!(
            device,
            What::Interrupt { source: Source::Device, line: Some(32), handled: true, ns: 500 }
        );
        let in_vain = decode(&stretch(kind::INTERRUPT, DEVICE | NOT_HANDLED)).unwrap().what;
        assert!(matches!(in_vain, What::Interrupt { line: Some(32), handled: false, .. }), "{in_vain:?}");
        let tick = decode(&stretch(kind::INTERRUPT, 0)).unwrap().what;
        assert_eq!(tick, What::Interrupt { source: Source::Tick, line: None, handled: true, ns: 500 });
        let lost = decode(&stretch(kind::LOST, 0)).unwrap().what;
        assert_eq!(lost, What::Lost { unreported: Some(32), ns: 500 });
        assert_eq!(decode(&stretch(kind::IDLE, 0)).unwrap().what, What::Idle { state: 32, ns: 500 });
    }

    #[test]
    fn a_waker_that_is_not_known_is_nobody() {
        let wake = |waker: u32| {
            [head(8, 0, kind::WAKE, 100), waker.to_ne_bytes().to_vec(), 1u32.to_ne_bytes().to_vec()].concat()
        };
        let woken = |waker| What::Woken { tid: 8, priority: 100, waker, to_cpu: 1 };
        assert_eq!(decode(&wake(5)).unwrap().what, woken(Some(5)));
        assert_eq!(decode(&wake(0)).unwrap().what, woken(None));
    }

    #[test]
    fn what_is_cut_short_or_unknown_is_no_event() {
        let whole = switch(kind::SWITCH, 0);
        assert_eq!(decode(&whole[..whole.len() - 1]), None);
        assert_eq!(decode(&head(0, 0, 200, 0)), None);
        assert_eq!(decode(&[]), None);
        let no_source = [head(0, 0, kind::INTERRUPT, 99), vec![0; 8]].concat();
        assert_eq!(decode(&no_source), None);
    }
}
