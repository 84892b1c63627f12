//! A file descriptor that an event loop can wait on.

use std::sync::atomic::{AtomicBool, Ordering};

/// Becomes readable at the first `wake` after a `clear`; further wakes cost one atomic swap.
#[cfg(unix)]
pub struct Wakeup {
    signalled: AtomicBool,
    reader: std::os::unix::net::UnixStream,
    writer: std::os::unix::net::UnixStream,
}

#[cfg(unix)]
impl Wakeup {
    /// # Errors
    /// The process has no file descriptor left.
    pub fn new() -> std::io::Result<Self> {
        let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self { signalled: AtomicBool::new(false), reader, writer })
    }

    pub fn fileno(&self) -> i32 {
        use std::os::fd::AsRawFd;
        self.reader.as_raw_fd()
    }

    pub fn wake(&self) {
        use std::io::Write;
        if !self.signalled.swap(true, Ordering::AcqRel) {
            // A full buffer means that the descriptor is readable already.
            let _ = (&self.writer).write(&[1]);
        }
    }

    /// Call before looking for work: a wake that comes while looking is kept.
    pub fn clear(&self) {
        use std::io::Read;
        let mut sink = [0u8; 16];
        while matches!((&self.reader).read(&mut sink), Ok(n) if n == sink.len()) {}
        self.signalled.store(false, Ordering::Release);
    }
}

/// Event loops without `add_reader` (Windows' Proactor) cannot wait on a descriptor.
#[cfg(not(unix))]
pub struct Wakeup {
    signalled: AtomicBool,
}

#[cfg(not(unix))]
impl Wakeup {
    /// # Errors
    /// Always: this platform has no descriptor to wait on.
    pub fn new() -> std::io::Result<Self> {
        Err(std::io::Error::new(
            std::io::ErrorKind::Unsupported,
            "asyncio wake-ups need a POSIX platform; use the synchronous classes",
        ))
    }

    pub fn fileno(&self) -> i32 {
        -1
    }

    pub fn wake(&self) {
        self.signalled.store(true, Ordering::Release);
    }

    pub fn clear(&self) {
        self.signalled.store(false, Ordering::Release);
    }
}
