//! Functions of the kernel.

use std::cmp::Reverse;
use std::sync::Arc;

use super::row::Row;
use crate::account::rows::stretches::Stretches;
use crate::account::time_account::{FunctionAccount, FunctionKind};

impl Row for FunctionAccount {
    type Key = (FunctionKind, Arc<str>, u32);

    fn key(&self) -> Self::Key {
        (self.kind, self.name.clone(), self.cpu)
    }

    fn since(&self, before: Option<&Self>) -> Option<Self> {
        let nothing = Stretches::default();
        let ran = self.ran.since(before.map_or(&nothing, |before| &before.ran), None);
        let some = ran.count > 0;
        some.then(|| Self { kind: self.kind, name: self.name.clone(), cpu: self.cpu, ran })
    }

    fn then(&self, later: &Self) -> Self {
        Self { kind: self.kind, name: self.name.clone(), cpu: self.cpu, ran: self.ran.plus(&later.ran) }
    }

    fn rank(&self) -> impl Ord + use<> {
        Reverse((self.ran.total_ns, self.ran.count))
    }
}
