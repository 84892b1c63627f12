//! How many entries a stream keeps, as far as its reads show it.

use std::collections::VecDeque;

use crate::events::place;

/// So many marks are enough to count with.
const MARKS: usize = 64;

/// Counts the entries that were read and are still in the stream: so many more may come before one is cut off unread.
pub(super) struct Kept {
    /// How many entries were read.
    read: u64,
    /// Ids of some of them, the oldest one first, and how many had been read up to each.
    marks: VecDeque<((u64, u64), u64)>,
    /// So many entries lie at least between two marks.
    spacing: u64,
    oldest: Option<(u64, u64)>,
    /// Entries were cut off while it was read.
    pub is_cut: bool,
    /// How many there were when all had been read last, since some are cut off.
    length: Option<u64>,
}

impl Kept {
    pub fn new() -> Self {
        Kept { read: 0, marks: VecDeque::new(), spacing: 1, oldest: None, is_cut: false, length: None }
    }

    /// Notes a read.
    ///
    /// `last` is the id of the last of its `entries`, `oldest` that of the oldest one in the stream behind them, and
    /// `is_all` says that no more are there.
    pub fn note(&mut self, entries: usize, last: Option<&str>, oldest: Option<&str>, is_all: bool) {
        self.read += entries as u64;
        let before = self.marks.back().map_or(0, |&(_, read)| read);
        if let Some(last) = last.filter(|_| self.read - before >= self.spacing) {
            self.marks.push_back((place(last), self.read));
        }
        let oldest = oldest.map(place);
        self.is_cut |= self.oldest.is_some() && oldest.is_some() && self.oldest != oldest;
        self.oldest = oldest;
        while self.marks.front().is_some_and(|&(id, _)| Some(id) < oldest) {
            self.marks.pop_front();
        }
        if self.marks.len() > MARKS {
            let mut place = 0;
            self.marks.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.spacing *= 2;
        }
        if is_all && self.is_cut {
            self.length = Some(self.room());
        }
    }

    /// How many more entries may surely come before one is cut off unread.
    pub fn room(&self) -> u64 {
        self.marks.front().map_or(0, |&(_, read)| self.read - read)
    }

    /// Whether more than half of what it keeps may be unread.
    pub fn is_nearly_lost(&self) -> bool {
        self.is_cut && self.length.is_none_or(|length| self.room() * 2 < length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads so many entries, one per ms, of a stream that keeps the last 1,000 of those that have come.
    fn read(kept: &mut Kept, at: &mut u64, entries: u64, come: u64) {
        *at += entries;
        let oldest = format!("{}-0", come.saturating_sub(999).max(1));
        kept.note(entries as usize, Some(&format!("{at}-0")), Some(&oldest), *at == come);
    }

    #[test]
    fn it_counts_what_was_read_and_is_still_there() {
        let (mut kept, mut at) = (Kept::new(), 0);
        for come in (10..=3_000).step_by(10) {
            read(&mut kept, &mut at, 10, come);
        }
        assert!((900..1_000).contains(&kept.room()), "{}", kept.room());
        assert!(!kept.is_nearly_lost());
        assert!(kept.marks.len() <= MARKS + 1);
        read(&mut kept, &mut at, 10, 3_400);
        assert!((500..620).contains(&kept.room()), "{}", kept.room());
        assert!(!kept.is_nearly_lost());
        read(&mut kept, &mut at, 10, 3_800);
        assert!(kept.is_nearly_lost());
    }

    #[test]
    fn nothing_is_nearly_lost_in_a_stream_that_is_not_cut() {
        let (mut kept, mut at) = (Kept::new(), 0);
        read(&mut kept, &mut at, 10, 900);
        assert!(!kept.is_nearly_lost());
        read(&mut kept, &mut at, 10, 2_000);
        assert!(kept.is_nearly_lost());
    }

    #[test]
    fn of_a_stream_that_began_anew_nothing_is_counted_as_kept() {
        let mut kept = Kept::new();
        kept.note(100, Some("100-0"), Some("1-0"), true);
        kept.note(5, Some("905-0"), Some("900-0"), true);
        assert_eq!(kept.room(), 0);
    }
}
