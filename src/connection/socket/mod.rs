//! The socket of a connection: opening it, counting its bytes, shutting it down.

mod address;
mod frames;
mod messages;
mod meter;
mod secured;
mod tls;
mod trust;
mod write_end;

use std::io;
use std::net::Shutdown;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

pub(in crate::connection) use address::Address;
pub(in crate::connection) use meter::Meter;
pub(in crate::connection) use tls::{CertificateFile, Tls};
pub(in crate::connection) use write_end::{EndableStream, WriteEnd};

/// How long sent data may stay unacknowledged before the kernel closes the socket.
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(10);

/// After this time in a handshake it is checked whether the server speaks Redis without TLS.
const TLS_CHECK_DELAY: Duration = Duration::from_millis(500);

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(super) async fn open(address: &Address, tls: Option<&Tls>, meter: &Arc<Meter>) -> io::Result<Box<dyn Stream>> {
    Ok(Box::new(messages::Messages::new(open_any(address, tls, meter).await?, meter.clone())))
}

async fn open_any(address: &Address, tls: Option<&Tls>, meter: &Arc<Meter>) -> io::Result<Box<dyn Stream>> {
    Ok(match (address, tls) {
        (Address::Tcp { host, port }, None) => Box::new(open_tcp(host, *port, meter).await?),
        (Address::Tcp { host, port }, Some(tls)) => {
            let secured = tls.wrap(host, open_tcp(host, *port, meter).await?);
            tokio::select! {
                secured = secured => Box::new(secured::Secured::new(secured?, meter.clone())),
                () = answers_without_tls(host, *port) => return Err(tls::not_spoken()),
            }
        }
        #[cfg(unix)]
        (Address::Unix(path), _) => {
            let socket = tokio::net::UnixStream::connect(path).await?;
            Box::new(Metered::new(socket, meter))
        }
        #[cfg(not(unix))]
        (Address::Unix(_), _) => return Err(io::Error::new(io::ErrorKind::Unsupported, "no Unix sockets here")),
    })
}

/// Resolves the name each time, so that it follows a failover behind a DNS name.
async fn open_tcp(host: &str, port: u16, meter: &Arc<Meter>) -> io::Result<Metered<TcpStream>> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(15)).with_interval(Duration::from_secs(5));
    #[cfg(not(windows))]
    let keepalive = keepalive.with_retries(3);
    let socket = SockRef::from(&stream);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    Ok(Metered::new(stream, meter))
}

/// Returns if the server speaks Redis without TLS. Such a server does not answer the handshake: it waits for the end of
/// a line.
async fn answers_without_tls(host: &str, port: u16) {
    tokio::time::sleep(TLS_CHECK_DELAY).await;
    if !matches!(first_byte(host, port).await, Ok(b'+' | b'-')) {
        std::future::pending::<()>().await;
    }
}

async fn first_byte(host: &str, port: u16) -> io::Result<u8> {
    let (socket, mut first) = (TcpStream::connect((host, port)).await?, [0]);
    socket.writable().await?;
    socket.try_write(b"PING\r\n")?;
    loop {
        socket.readable().await?;
        match socket.try_read(&mut first) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read.map(|_| first[0]),
        }
    }
}

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {
    fn shut_down(&self) -> io::Result<()>;
    #[cfg(target_os = "linux")]
    fn descriptor(&self) -> RawFd;
}

impl Socket for TcpStream {
    fn shut_down(&self) -> io::Result<()> {
        SockRef::from(self).shutdown(Shutdown::Both)
    }

    #[cfg(target_os = "linux")]
    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }
}

#[cfg(unix)]
impl Socket for tokio::net::UnixStream {
    fn shut_down(&self) -> io::Result<()> {
        SockRef::from(self).shutdown(Shutdown::Both)
    }

    #[cfg(target_os = "linux")]
    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }
}

struct Metered<S: Socket> {
    socket: S,
    meter: Arc<Meter>,
}

impl<S: Socket> Metered<S> {
    fn new(socket: S, meter: &Arc<Meter>) -> Self {
        #[cfg(target_os = "linux")]
        meter.opened(socket.descriptor());
        Self { socket, meter: meter.clone() }
    }
}

impl<S: Socket> Drop for Metered<S> {
    /// Closing is not enough: a forked child may have a copy of the socket, which keeps the connection open.
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        self.meter.closes();
        let _ = self.socket.shut_down();
    }
}

impl<S: Socket> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.socket).poll_read(cx, buf);
        self.meter.note_read((buf.filled().len() - before) as u64)?;
        poll
    }
}

impl<S: Socket> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.socket).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = &poll {
            self.meter.note_written(*written as u64);
        }
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
