//! A TCP proxy in front of Redis that breaks connections.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

#[derive(Default)]
struct Mood {
    /// Requests get through, replies do not.
    mute: AtomicBool,
    /// Nothing gets through, but the socket stays open.
    swallow: AtomicBool,
    swallowed: AtomicUsize,
    cut: Notify,
    /// For each connection, whether nothing gets through any more.
    dead: Mutex<Vec<Arc<AtomicBool>>>,
}

pub struct Proxy {
    pub port: u16,
    mood: Arc<Mood>,
}

impl Proxy {
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let mood = Arc::new(Mood::default());
        let shared = mood.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
                    continue;
                };
                tokio::spawn(relay(client, server, shared.clone()));
            }
        });
        Proxy { port: own, mood }
    }

    fn mute(&self, on: bool) {
        self.mood.mute.store(on, Ordering::SeqCst);
    }

    pub fn swallow(&self, on: bool) {
        self.mood.swallow.store(on, Ordering::SeqCst);
    }

    /// Nothing gets through on the connections that are open now. New ones are relayed.
    pub fn half_open(&self) {
        self.mood.dead.lock().unwrap().iter().for_each(|dead| dead.store(true, Ordering::SeqCst));
    }

    /// How many connections were made so far.
    pub fn accepted(&self) -> usize {
        self.mood.dead.lock().unwrap().len()
    }

    /// How many reads were dropped so far.
    pub fn swallowed(&self) -> usize {
        self.mood.swallowed.load(Ordering::SeqCst)
    }

    /// Swallows one more reply, then forwards again and closes all connections.
    pub async fn lose_a_reply(&self) {
        let before = self.swallowed();
        self.mute(true);
        crate::server::until("a reply is swallowed", || async { self.swallowed() > before }).await;
        self.mute(false);
        self.cut();
    }

    /// Closes all current connections.
    pub fn cut(&self) {
        self.mood.cut.notify_waiters();
    }
}

async fn relay(client: TcpStream, server: TcpStream, mood: Arc<Mood>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let dead = Arc::new(AtomicBool::new(false));
    mood.dead.lock().unwrap().push(dead.clone());
    let (request, reply) = ([&mood.swallow, &*dead], [&mood.swallow, &mood.mute, &*dead]);
    tokio::select! {
        () = pump(from_client, to_server, &request, &mood.swallowed) => {}
        () = pump(from_server, to_client, &reply, &mood.swallowed) => {}
        () = mood.cut.notified() => {}
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, stops: &[&AtomicBool], swallowed: &AtomicUsize) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if stops.iter().any(|stop| stop.load(Ordering::SeqCst)) {
            swallowed.fetch_add(1, Ordering::SeqCst);
        } else if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
