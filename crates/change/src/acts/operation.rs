//! The trait that every kind of act implements, and what the implementations share.

pub(super) mod netns;
pub(super) mod path;
pub(super) mod refusal;
pub(super) mod thread;

use std::io;

use machine::{Act, Fault, ThreadRef};

#[cfg(any(test, feature = "emulated"))]
use super::samples::Sampled;
use crate::kernel::{Kernel, Users};
use crate::procfs::says_ended;
use crate::record::{Entry, How, Value};
use crate::subject::Scope;
use refusal::Refusal;

/// What the tests that cover every kind have to know: nothing, where none of them is built.
#[cfg(not(any(test, feature = "emulated")))]
pub trait Sampled {}

#[cfg(not(any(test, feature = "emulated")))]
impl<T> Sampled for T {}

/// Whether a thread of the first users may do something to a thread of the second ones.
pub type OwnerRule = fn(Users, Users) -> bool;

/// How long what an act does lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the next boot at most.
    Boot,
    /// The same, but a file that the session has placed may bring it back.
    BootUnlessKept,
    /// The machine keeps it while it is off.
    Lasting,
}

/// An act that is to be taken back.
pub struct TakenBack<'a> {
    /// The act as it reads here, which may name its object differently from its entry.
    pub act: &'a Act,
    /// Its entry.
    pub entry: &'a Entry,
    /// The acts of its session before it.
    pub earlier: &'a [Entry],
    /// What [`Act::Launch`] or [`Act::HoldLatency`] put into the environment.
    pub marker: &'a str,
}

/// What an act means to the kernel.
pub trait Operation: Sampled {
    // What it is about.

    /// What decides which object its words mean.
    fn scope(&self) -> Scope<'_>;

    /// The thread that it changes, whose children inherit the change; the first one of a process for what holds for all of it.
    fn thread(&self) -> Option<ThreadRef> {
        None
    }

    /// The thread, or first thread of a process, without which there is nothing to change.
    fn lives_with(&self) -> Option<ThreadRef> {
        self.thread()
    }

    /// The name of the network namespace in which it finds its object.
    fn netns(&self) -> Option<&str> {
        None
    }

    /// Names of the network namespaces that it makes.
    fn makes_networks(&self) -> &[String] {
        &[]
    }

    /// Whether it is a file below /sys, which may show another network namespace than that of the process.
    fn is_in_sys(&self) -> bool {
        false
    }

    /// Whether another act changes the same thing by its words; files that set each other to 0 are one.
    fn is_about_same(&self, other: &Act) -> bool;

    /// Whether undoing this has to wait until `later`, of another session, is undone.
    fn is_held_by(&self, later: &Act) -> bool {
        self.is_about_same(later)
    }

    /// Whether another act changes the same thing under another name, by what the two found: processes of one session have one
    /// autogroup.
    fn shares_object(&self, _old: &Value, _other: &Act, _found: &Value) -> bool {
        false
    }

    /// Whether undoing `later`, which found `found`, needs what this act made.
    fn is_needed_by(&self, _later: &Act, _found: &Value) -> bool {
        false
    }

    /// The same act for another thread.
    fn for_thread(&self, _thread: ThreadRef) -> Option<Act> {
        None
    }

    /// The same act in the network namespace in which it stands, on an interface that has been renamed from one name to another.
    fn moved(&self, _renamed: Option<(&str, &str)>) -> Option<Act> {
        None
    }

    /// The process that it keeps from setting the object.
    fn restrains(&self) -> Option<u32> {
        None
    }

    /// How long what it does lasts.
    fn lifetime(&self) -> Lifetime {
        Lifetime::Boot
    }

    /// Whether it makes something that has an identity of its own once it is there.
    fn makes(&self) -> bool {
        false
    }

    // Reading.

    /// What there is now.
    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value>;

    /// Whether it is read once more when the intent is on disk. Not what differs with each reading, and not where performing fails if
    /// somebody else has made the object meanwhile.
    fn is_read_again(&self) -> bool {
        true
    }

    /// Refuses what may not be changed as it is now, and adds to `old` what putting it back takes.
    fn examine(&self, _kernel: &dyn Kernel, _old: &mut Value) -> Result<(), Fault> {
        Ok(())
    }

    /// What it would give up that only a process with CAP_SYS_NICE can give back, in words.
    fn gives_up(&self, _old: &Value) -> Option<String> {
        None
    }

    /// The thread that only its owners may change without CAP_SYS_NICE, and the rule by which the kernel knows them. `None` where nobody
    /// needs that right, or the kernel refuses it for another reason first.
    fn owner_rule(&self, _kernel: &dyn Kernel) -> Option<(ThreadRef, OwnerRule)> {
        None
    }

    // Doing.

    /// Performs it. `now` is what was read last. What starts a process is performed by [`Hand`](crate::Hand) itself.
    fn perform(&self, _kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Puts back what was there. `now` is what was read last. Not called where [`take_back`](Self::take_back) does it all.
    fn put_back(&self, _kernel: &dyn Kernel, _old: &Value, _now: &Value) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Takes it back where that is more than putting a value back; `None` where it is not.
    fn take_back(&self, _kernel: &dyn Kernel, _of: &TakenBack, _force: bool) -> Option<How> {
        None
    }

    // Comparing.

    /// Whether two readings mean the same.
    fn same(&self, a: &Value, b: &Value) -> bool {
        a == b
    }

    /// Whether a reading is what was asked for.
    fn took_effect(&self, now: &Value) -> bool;

    /// Whether a reading can be the work of an act whose end was never recorded: what was asked for, or any part of it that the kernel
    /// may have done.
    fn may_be_ours(&self, _old: &Value, now: &Value) -> bool {
        self.took_effect(now)
    }

    /// Whether a reading is still the work of an act that found `old` and left `left`.
    fn is_ours(&self, old: &Value, left: Option<&Value>, now: &Value) -> bool {
        match left {
            Some(left) => self.same(now, left),
            None => self.may_be_ours(old, now),
        }
    }

    /// Whether a reading is what an undo leaves that was cut short.
    fn is_half_restored(&self, _old: &Value, _now: &Value) -> bool {
        false
    }

    /// Whether `now` is what `other` found: of the same thing.
    fn is_what_was_found(&self, now: &Value, other: &Act, found: &Value) -> bool {
        self.is_about_same(other) && self.same(now, found)
    }

    /// Whether what the kernel made of the old value when that was put back before is still so. `left` is what that was.
    fn is_as_left(&self, left: &Value, now: &Value) -> bool {
        self.same(left, now)
    }

    /// Whether an error means that what it changed is not there any more, and not merely that it cannot be had at the moment.
    ///
    /// # Errors
    /// Why that cannot be determined.
    fn is_gone(&self, kernel: &dyn Kernel, error: &io::Error) -> io::Result<bool> {
        Ok(self.has_ended(kernel, error))
    }

    /// Whether an error means that the thread or process has ended: the kernel knows no such thread, or it is another one by now.
    fn has_ended(&self, kernel: &dyn Kernel, error: &io::Error) -> bool {
        error.raw_os_error() == Some(libc::ESRCH)
            || (says_ended(error) && self.is_there(kernel).is_err_and(|error| says_ended(&error)))
    }

    /// Whether the thread or process is still that one.
    ///
    /// # Errors
    /// It has ended, or its number was given to another one.
    fn is_there(&self, kernel: &dyn Kernel) -> io::Result<()> {
        let Some(of) = self.lives_with() else { return Ok(()) };
        match kernel.start_time(of.pid, of.tid)? == of.start_time_ticks {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }

    /// A value of a ledger of format 1, where some were words.
    fn typed(&self, value: Value) -> Value {
        value
    }

    // Words.

    /// What it is about.
    fn object(&self) -> String;

    /// What it asks for.
    fn asked(&self) -> String;

    /// The file that is written or the call that is made.
    fn call(&self) -> String;

    /// What it has running, as a process of this number.
    fn running(&self, pid: u32) -> String {
        format!("running as process group {pid}")
    }

    /// What goes on as it was started although the change is undone, and until when.
    fn still_in_force(&self) -> Option<String> {
        None
    }

    /// What a refusal by the kernel means, where it means something of its own here.
    fn refused(&self, _error: &io::Error) -> Option<Refusal> {
        None
    }
}

impl dyn Operation + '_ {
    /// What is there now of something that is still there.
    pub fn read_there(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        self.is_there(kernel).and_then(|()| self.read(kernel))
    }
}

/// An old value that does not belong to its act: the ledger is damaged.
pub(super) fn unfit() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the ledger's old value does not fit its act")
}
