//! Ends the write side of a stream, and only that: the other side sees the end, and what it has sent before can still
//! be read.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Asks for the end of the write side, from outside the task that owns the stream.
#[derive(Default)]
pub(in crate::connection) struct WriteEnd {
    asked: AtomicBool,
    reader: AtomicWaker,
}

impl WriteEnd {
    /// Nothing more is sent.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        self.reader.wake();
    }

    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// A stream whose write side ends when that is asked for: after `close_notify`, if it is secured.
pub(in crate::connection) struct EndableStream<S> {
    stream: S,
    end: Arc<WriteEnd>,
    ended: bool,
}

impl<S> EndableStream<S> {
    pub fn new(stream: S, end: Arc<WriteEnd>) -> Self {
        EndableStream { stream, end, ended: false }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for EndableStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.ended {
            self.end.reader.register(cx.waker());
            // An error is the end as well: reading tells.
            self.ended = self.end.is_asked() && Pin::new(&mut self.stream).poll_shutdown(cx).is_ready();
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for EndableStream<S> {
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
