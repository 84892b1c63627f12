//! A TCP proxy in front of Redis that breaks connections.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What happens to one reply while its connection stays open.
#[derive(Clone, Copy, Debug)]
pub enum Disorder {
    Lost,
    Doubled,
    /// It changes places with the next one.
    Swapped,
    /// An error comes before it that is the reply to no call.
    Preceded,
    /// Another one comes in its place.
    Foreign,
    /// A part in its middle is lost.
    Pierced,
}

#[derive(Default)]
struct Mood {
    /// How many replies get through before one that does not come as it should.
    disorder: Mutex<Option<(usize, Disorder)>>,
    /// Requests get through, replies do not.
    mute: AtomicBool,
    /// Nothing gets through, but the socket stays open.
    swallow: AtomicBool,
    swallowed: AtomicUsize,
    /// Replies wait here until this is false again.
    holds: AtomicBool,
    held: AtomicUsize,
    /// New connections are closed at once.
    refuses: AtomicBool,
    cut: Notify,
    /// For each connection, whether nothing gets through any more.
    dead: Mutex<Vec<Arc<AtomicBool>>>,
    /// For each connection, whether its requests are held up on their way.
    late: Mutex<Vec<Arc<AtomicBool>>>,
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
                if shared.refuses.load(Ordering::SeqCst) {
                    continue;
                }
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

    /// Replies wait in the proxy until this is called with `false`; then they get through, and what ends a connection
    /// after them.
    pub fn hold_replies(&self, on: bool) {
        self.mood.holds.store(on, Ordering::SeqCst);
    }

    /// How many reads of replies were held up so far.
    pub fn held(&self) -> usize {
        self.mood.held.load(Ordering::SeqCst)
    }

    /// Nothing gets through on the connections that are open now. New ones are relayed.
    pub fn half_open(&self) {
        self.mood.dead.lock().unwrap().iter().for_each(|dead| dead.store(true, Ordering::SeqCst));
    }

    /// Requests on the connections that are open now are held up until this is called with `false`; then they arrive,
    /// also those of connections that their client has closed. New connections are relayed.
    pub fn hold_requests(&self, on: bool) {
        self.mood.late.lock().unwrap().iter().for_each(|late| late.store(on, Ordering::SeqCst));
    }

    /// After this many more replies, of whatever connection, one is lost, comes twice or too late.
    pub fn disturb(&self, after: usize, disorder: Disorder) {
        *self.mood.disorder.lock().unwrap() = Some((after, disorder));
    }

    /// Whether the disturbance has happened.
    pub fn has_disturbed(&self) -> bool {
        self.mood.disorder.lock().unwrap().is_none()
    }

    /// New connections are closed at once.
    pub fn refuse(&self) {
        self.mood.refuses.store(true, Ordering::SeqCst);
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
    let late = Arc::new(AtomicBool::new(false));
    mood.late.lock().unwrap().push(late.clone());
    let (request, reply) = ([&mood.swallow, &*dead], [&mood.swallow, &mood.mute, &*dead]);
    // The client may end only its side: the server closes the connection then, after what it has sent.
    let requests = async {
        pump(from_client, to_server, &request, Some(&late), &mood, |_, bytes| bytes).await;
        if request.iter().all(|stop| !stop.load(Ordering::SeqCst)) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased; // what is held gets through no more once the connection is cut
        () = mood.cut.notified() => {}
        () = requests => {}
        () = pump(from_server, to_client, &reply, None, &mood, disturbed) => {}
    }
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    stops: &[&AtomicBool],
    late: Option<&AtomicBool>,
    mood: &Mood,
    change: impl Fn(&Mood, Vec<u8>) -> Vec<u8>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if stops.len() > 2 && mood.holds.load(Ordering::SeqCst) {
            mood.held.fetch_add(1, Ordering::SeqCst);
            crate::server::until("replies get through", || async { !mood.holds.load(Ordering::SeqCst) }).await;
        }
        if let Some(late) = late.filter(|late| late.load(Ordering::SeqCst)) {
            crate::server::until("requests arrive", || async { !late.load(Ordering::SeqCst) }).await;
        }
        if stops.iter().any(|stop| stop.load(Ordering::SeqCst)) {
            mood.swallowed.fetch_add(1, Ordering::SeqCst);
        } else if to.write_all(&change(mood, buffer[..count].to_vec())).await.is_err() {
            return;
        }
    }
}

/// Replies as the client gets them. The tests send short ones, so none begins in one read and ends in another.
fn disturbed(mood: &Mood, mut bytes: Vec<u8>) -> Vec<u8> {
    let mut pending = mood.disorder.lock().unwrap();
    let Some((after, disorder)) = pending.as_mut() else { return bytes };
    let mut ends = vec![0];
    while let Some(length) = reply_length(&bytes[ends[ends.len() - 1]..]) {
        ends.push(ends[ends.len() - 1] + length);
    }
    let count = ends.len() - 1;
    let needed = if matches!(disorder, Disorder::Swapped) { 2 } else { 1 };
    if *after + needed > count {
        *after = after.saturating_sub(count);
        return bytes;
    }
    let (start, end) = (ends[*after], ends[*after + 1]);
    match disorder {
        Disorder::Lost => drop(bytes.drain(start..end)),
        Disorder::Doubled => drop(bytes.splice(end..end, bytes[start..end].to_vec())),
        Disorder::Swapped => bytes[start..ends[*after + 2]].rotate_left(end - start),
        Disorder::Foreign => drop(bytes.splice(start..end, *b"*0\r\n")),
        Disorder::Pierced => drop(bytes.drain(start + (end - start) / 4..end - (end - start) / 4)),
        Disorder::Preceded => drop(bytes.splice(start..start, *b"-OOM command not allowed\r\n")),
    }
    *pending = None;
    bytes
}

/// How long the first reply is; `None` if there is no whole one.
pub fn reply_length(bytes: &[u8]) -> Option<usize> {
    let line = bytes.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let number = || std::str::from_utf8(&bytes[1..line - 2]).ok()?.parse::<i64>().ok();
    match bytes[0] {
        b'$' => Some(usize::try_from(number()?).map_or(line, |length| line + length + 2)),
        b'*' => (0..number()?).try_fold(line, |end, _| Some(end + reply_length(&bytes[end..])?)),
        _ => Some(line),
    }
    .filter(|length| *length <= bytes.len())
}
