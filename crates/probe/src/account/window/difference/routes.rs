//! Migrations between pairs of CPUs.

use std::cmp::Reverse;

use super::row::Row;
use crate::account::time_account::Route;

impl Row for Route {
    type Key = (u32, u32);

    fn key(&self) -> Self::Key {
        (self.from, self.to)
    }

    fn since(&self, before: Option<&Self>) -> Option<Self> {
        let times = self.times.saturating_sub(before.map_or(0, |before| before.times));
        (times > 0).then_some(Self { from: self.from, to: self.to, times })
    }

    fn then(&self, later: &Self) -> Self {
        Self { from: self.from, to: self.to, times: self.times.saturating_add(later.times) }
    }

    fn rank(&self) -> impl Ord + use<> {
        (Reverse(self.times), self.from, self.to)
    }
}
