//! A stream whose messages are followed: it ends when one is too long, or is a reply that no call waits for.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::{Broken, Frames};
use super::meter::Meter;

/// The longest message of a Sentinel or a publisher. A name of a master or a hint has less than a kilobyte; more would
/// only fill the memory.
const LONGEST: u64 = 1 << 20;

/// Ends a stream when one of its messages must not come.
pub(super) struct Messages<S> {
    stream: S,
    frames: Frames,
    meter: Arc<Meter>,
}

impl<S> Messages<S> {
    pub fn new(stream: S, meter: Arc<Meter>) -> Self {
        Messages { stream, frames: Frames::default(), meter }
    }

    /// Follows what has come; returns why nothing more is read, if that is so.
    fn follow(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let limit = if self.meter.is_short() { LONGEST } else { u64::MAX };
        let ended = self.frames.take(bytes, limit).map_err(|broken| match broken {
            Broken::TooLong => "the connection was closed, since a message on it had more than 1 MB",
            Broken::NoMessage => "the connection was closed, since what came is no message of Redis",
        })?;
        if self.meter.note_messages(ended) {
            return Ok(());
        }
        Err("the connection was closed, since a reply came that no call waits for")
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Messages<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.meter.must_wait(cx) {
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buf);
        if let Err(reason) = self.follow(&buf.filled()[before..]) {
            self.meter.note_refused(reason);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, reason)));
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Messages<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn messages_that_come_faster_than_they_are_taken_are_not_read() {
        let (mut sender, receiver) = tokio::io::duplex(1 << 20);
        let meter = Arc::new(Meter::of_short_messages());
        let mut messages = Messages::new(receiver, meter.clone());
        let flood = "+0123456789\r\n".repeat(1 << 16);
        let mut buffer = vec![0; flood.len()];
        let mut read = 0;
        // What reads from the socket itself counts the bytes.
        while sender.write_all(flood.as_bytes()).now_or_never().is_some() {
            match messages.read_exact(&mut buffer).now_or_never() {
                Some(count) => {
                    read += count.unwrap();
                    meter.note_read(flood.len() as u64).unwrap();
                }
                None => break,
            }
        }
        assert!(read > 4 << 20 && read < 6 << 20, "{read} bytes");
        assert!(messages.read_exact(&mut buffer).now_or_never().is_none());
        meter.take_all();
        assert!(messages.read_exact(&mut buffer).now_or_never().is_some());
    }
}
