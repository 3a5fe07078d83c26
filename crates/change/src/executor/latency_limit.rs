//! A limit on the exit latency of idle CPUs, which the kernel keeps for as long as somebody holds its device open
//! (Documentation/power/pm_qos_interface.rst): a process of its own does, which undo ends.

use machine::{Act, Fault, Setting};

use super::{Hand, Receipt, found};
use crate::acts::{operation, refusal};

impl Hand {
    /// Starts a process that holds a limit; it outlives us, and ends with this act's undo.
    ///
    /// Errors: nothing is left of it then.
    pub(crate) fn hold_latency(
        &mut self,
        act: &Act,
        limit_us: u32,
        setting: Option<&Setting>,
    ) -> Result<Receipt, Fault> {
        let kernel = self.kernel.clone();
        let old = found(&*kernel, act)?;
        let seq = self.intend_for(act, old, setting)?;
        let marker = self.marker(seq);
        let gated = match kernel.fork_holder(limit_us, &marker) {
            Ok(gated) => gated,
            Err(fault) => return Err(self.give_up(seq, fault)),
        };
        if let Err(fault) = self.started(seq, gated.process()) {
            // It leaves without having run anything.
            drop(gated);
            return Err(self.give_up(seq, fault));
        }
        if let Err(fault) = gated.release() {
            return Err(self.give_up(seq, fault));
        }
        let operation = operation(act);
        match operation.read_there(&*kernel) {
            Ok(read_back) => self.done(seq, read_back),
            Err(error) => Err(self.give_up(seq, refusal(&*operation, &error))),
        }
    }
}
