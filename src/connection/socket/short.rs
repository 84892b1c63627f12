//! A stream of messages that are all short, as Sentinels and publishers send them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::{Broken, Frames};
use super::meter::Meter;

/// The longest message. A name of a master or a hint has less than a kilobyte; more would only fill the memory.
const LONGEST: u64 = 1 << 20;

/// Ends a stream when one of its messages is too long.
pub(super) struct Short<S> {
    stream: S,
    frames: Frames,
    meter: Arc<Meter>,
}

impl<S> Short<S> {
    pub fn new(stream: S, meter: Arc<Meter>) -> Self {
        Short { stream, frames: Frames::default(), meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Short<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buf);
        if let Err(broken) = self.frames.take(&buf.filled()[before..], LONGEST) {
            let reason = match broken {
                Broken::TooLong => "the connection was closed, since a message on it had more than 1 MB",
                Broken::NoMessage => "the connection was closed, since what came is no message of Redis",
            };
            self.meter.note_refused(reason);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, reason)));
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Short<S> {
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
