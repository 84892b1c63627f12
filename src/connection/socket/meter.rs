//! What went through a socket.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::OnceLock;
use std::task::Context;

use futures_util::task::AtomicWaker;

#[cfg(target_os = "linux")]
use crate::mutex::Mutex;

/// No reply is longer: one value has at most 512 MB. A reply without end would fill the memory.
const MAX_REPLY: u64 = 2 << 30;

/// With so many bytes on their way an upload takes place.
const UPLOAD: u64 = 16 << 10;

/// The most bytes of messages that nobody has taken yet. What sends faster than its messages are taken has to wait, or
/// they would fill the memory.
const MAX_UNTAKEN: u64 = 4 << 20;

/// Counts the bytes that were written to the kernel and read from it.
#[derive(Default)]
pub(in crate::connection) struct Meter {
    written: AtomicU64,
    read: AtomicU64,
    /// What had been read when the last reply was complete.
    complete: AtomicU64,
    /// What had been written when the last bytes were read.
    written_before_read: AtomicU64,
    /// The socket, while it is open.
    #[cfg(target_os = "linux")]
    socket: Mutex<Option<RawFd>>,
    /// Why the other side has ended TLS.
    alert: OnceLock<rustls::Error>,
    /// The handshake of TLS is over.
    secured: AtomicBool,
    /// Each message is short: a long one ends the connection.
    is_short: bool,
    /// How many replies have come.
    replies: AtomicU64,
    /// How many calls may have a reply, once that counts.
    calls: AtomicU64,
    counts_calls: AtomicBool,
    /// How many messages and replies were taken, if they are short.
    taken: AtomicU64,
    /// What had been read when all of them were taken.
    all_taken: AtomicU64,
    /// Who reads on when all of them are taken.
    reader: AtomicWaker,
    /// Why nothing more is read.
    refused: OnceLock<&'static str>,
}

impl Meter {
    /// The meter of a connection to a Sentinel, or of a subscriber: a message of more than 1 MB ends it.
    pub fn of_short_messages() -> Self {
        Meter { is_short: true, ..Meter::default() }
    }

    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// From now on each reply needs a call that was noted before: no call waits for another one, and nobody would see
    /// it.
    pub fn count_calls(&self) {
        self.calls.store(self.replies.load(Ordering::Acquire), Ordering::Release);
        self.counts_calls.store(true, Ordering::Release);
    }

    /// How many calls may have had a reply, once that counts: the number of the next one.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Acquire)
    }

    /// How many replies have come.
    pub fn replies(&self) -> u64 {
        self.replies.load(Ordering::Acquire)
    }

    /// Notes calls before they are sent.
    pub fn note_calls(&self, count: usize) {
        self.calls.fetch_add(count as u64, Ordering::AcqRel);
    }

    /// Notes that messages have come. False: there are more than calls.
    pub(super) fn note_messages(&self, count: u64) -> bool {
        let replies = self.replies.fetch_add(count, Ordering::AcqRel) + count;
        !self.counts_calls.load(Ordering::Acquire) || replies <= self.calls.load(Ordering::Acquire)
    }

    /// Notes that all that has come was taken.
    pub fn take_all(&self) {
        self.taken.store(self.replies.load(Ordering::Acquire), Ordering::Release);
        self.all_taken.store(self.read(), Ordering::Release);
        self.reader.wake();
    }

    /// Notes that a message, or the reply to a call, was taken.
    pub fn take(&self) {
        if self.taken.fetch_add(1, Ordering::AcqRel) + 1 >= self.replies.load(Ordering::Acquire) {
            self.take_all();
        }
    }

    /// Whether what has come must be taken before more is read. Then the reader is woken when it is.
    pub(super) fn must_wait(&self, reader: &Context<'_>) -> bool {
        let is_behind = || self.read().saturating_sub(self.all_taken.load(Ordering::Acquire)) > MAX_UNTAKEN;
        if !self.is_short || !is_behind() {
            return false;
        }
        self.reader.register(reader.waker());
        is_behind()
    }

    pub(super) fn note_refused(&self, reason: &'static str) {
        let _ = self.refused.set(reason);
    }

    pub fn is_refused(&self) -> bool {
        self.refused.get().is_some()
    }

    /// Why this side has closed the connection; otherwise the reason that somebody else knows. The redis crate has
    /// none.
    pub fn reason(&self, known: String) -> String {
        self.refused.get().map_or(known, |refused| (*refused).to_owned())
    }

    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Acquire)
    }

    /// How many bytes were written since the last ones were read.
    pub fn unanswered(&self) -> u64 {
        self.written().saturating_sub(self.written_before_read.load(Ordering::Relaxed))
    }

    /// How many of the written bytes the other side has acknowledged, while many others are on their way to it. Only
    /// Linux says so.
    pub fn uploaded(&self) -> Option<u64> {
        let written = self.written();
        self.unacknowledged().filter(|bytes| *bytes >= UPLOAD).map(|bytes| written.saturating_sub(bytes))
    }

    #[cfg(target_os = "linux")]
    fn unacknowledged(&self) -> Option<u64> {
        let (socket, mut bytes): (_, libc::c_int) = (self.socket.lock(), 0);
        // SAFETY: the socket is open as long as it stands there, which the lock holds, and the call writes an int.
        let asked = unsafe { libc::ioctl((*socket)?, libc::TIOCOUTQ, &raw mut bytes) };
        u64::try_from(bytes).ok().filter(|_| asked == 0)
    }

    #[cfg(not(target_os = "linux"))]
    fn unacknowledged(&self) -> Option<u64> {
        None
    }

    #[cfg(target_os = "linux")]
    pub(super) fn opened(&self, socket: RawFd) {
        *self.socket.lock() = Some(socket);
    }

    /// The socket is about to be closed.
    #[cfg(target_os = "linux")]
    pub(super) fn closes(&self) {
        *self.socket.lock() = None;
    }

    /// Why the other side has ended TLS. A server that does not accept the client's certificate says so only after the
    /// handshake.
    pub fn alert(&self) -> Option<&rustls::Error> {
        self.alert.get()
    }

    /// Notes that a reply is complete.
    pub fn complete(&self) {
        self.complete.store(self.read(), Ordering::Relaxed);
    }

    pub(super) fn note_written(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::AcqRel);
    }

    pub fn is_secured(&self) -> bool {
        self.secured.load(Ordering::Relaxed)
    }

    pub(super) fn note_secured(&self) {
        self.secured.store(true, Ordering::Relaxed);
    }

    pub(super) fn note_alert(&self, alert: &rustls::Error) {
        let _ = self.alert.set(alert.clone());
    }

    pub(super) fn note_read(&self, bytes: u64) -> io::Result<()> {
        if bytes > 0 {
            self.written_before_read.store(self.written.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let read = self.read.fetch_add(bytes, Ordering::AcqRel) + bytes;
        if read.saturating_sub(self.complete.load(Ordering::Relaxed)) > MAX_REPLY {
            return Err(io::Error::other(format!("a reply of more than {} GB", MAX_REPLY >> 30)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_reader_of_short_messages_waits_until_all_are_taken() {
        let meter = Meter::of_short_messages();
        let reader = Context::from_waker(Waker::noop());
        for _ in 0..5 {
            meter.note_read(1 << 20).unwrap();
            assert!(!meter.must_wait(&reader) || meter.read() > MAX_UNTAKEN);
            meter.note_messages(1);
        }
        for _ in 0..4 {
            meter.take();
            assert!(meter.must_wait(&reader));
        }
        meter.take();
        assert!(!meter.must_wait(&reader));
    }

    #[test]
    fn a_reply_without_end_is_an_error_and_many_replies_are_not() {
        let meter = Meter::default();
        for _ in 0..5 {
            assert!(meter.note_read(1 << 30).is_ok());
            meter.complete();
        }
        assert!(meter.note_read(2 << 30).is_ok());
        assert!(meter.note_read(1).is_err());
    }
}
