//! What Sentinels publish when another server becomes the master.
//!
//! Without it a planned failover loses writes: the old master takes them for about ten seconds more, until a Sentinel makes it a
//! replica and closes its connections. All Sentinels are listened to: the one that leads the failover says it first, the others up to
//! two seconds later, and one of them may be cut off from the others.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{self, Future};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::StreamExt;
use redis::aio::PubSub;
use tokio::sync::watch;

use super::sentinel::Sentinel;
use crate::connection::fault::describe;
use crate::connection::pace::Pace;
use crate::connection::socket::{self, Address, Meter, Tls};

const CHANNEL: &str = "+switch-master";
/// The longest pause before a Sentinel that is gone is tried again.
const PAUSE: Duration = Duration::from_secs(5);
/// How often a Sentinel is asked for a sign of life, and how long it may take.
const PING: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(5);
/// How long Sentinels are listened to when there is no connection any more: a new one comes soon, above all after a failover.
const LINGER: Duration = Duration::from_secs(2);

/// The master, as a Sentinel has said it last.
type Master = watch::Sender<Option<Address>>;

thread_local! {
    /// What is listened to, by URL. Of this thread only: a forked child, whose runtime has a thread of its own, begins anew.
    static LISTENERS: RefCell<HashMap<String, Weak<Master>>> = RefCell::default();
}

/// What one connection hears of its Sentinels since it looked for the master.
pub(super) struct News(watch::Receiver<Option<Address>>);

impl News {
    /// Listens to the Sentinels of a URL, together with all who have the same one. Call inside a tokio runtime.
    pub fn of(url: &str, sentinel: &Arc<Sentinel>, tls: Option<&Tls>) -> Self {
        LISTENERS.with_borrow_mut(|listeners| {
            if let Some(master) = listeners.get(url).and_then(Weak::upgrade) {
                return News(master.subscribe());
            }
            listeners.retain(|_, master| master.strong_count() > 0);
            let master = Arc::new(Master::new(None));
            listeners.insert(url.to_owned(), Arc::downgrade(&master));
            let news = News(master.subscribe());
            tokio::spawn(listen(sentinel.clone(), tls.cloned(), master));
            news
        })
    }

    /// Returns the master when a Sentinel says that it is another server than this one.
    pub async fn moved_from(&self, address: &Address) -> Address {
        let mut master = self.0.clone();
        while master.changed().await.is_ok() {
            if let Some(now) = master.borrow_and_update().as_ref().filter(|now| *now != address) {
                return now.clone();
            }
        }
        future::pending().await
    }
}

/// Listens to all Sentinels as long as somebody wants to know.
async fn listen(sentinel: Arc<Sentinel>, tls: Option<Tls>, master: Arc<Master>) {
    let unused = async {
        while master.receiver_count() > 0 {
            master.closed().await;
            tokio::time::sleep(LINGER).await;
        }
    };
    let all = sentinel.addresses.iter().map(|address| follow(&sentinel, address, tls.as_ref(), &master));
    tokio::select! {
        () = unused => {}
        _ = join_all(all) => {}
    }
}

/// Listens to one Sentinel for ever.
async fn follow(sentinel: &Sentinel, address: &Address, tls: Option<&Tls>, master: &Master) {
    let mut pace = Pace::new(PAUSE);
    loop {
        let Err(reason) = hear(sentinel, address, tls, master, &mut pace).await;
        tracing::debug!(sentinel = %address, reason, "no messages");
        pace.failed();
        pace.wait().await;
    }
}

/// Listens to one Sentinel as long as it answers; returns why it does not.
async fn hear(
    sentinel: &Sentinel,
    address: &Address,
    tls: Option<&Tls>,
    master: &Master,
    pace: &mut Pace,
) -> Result<std::convert::Infallible, String> {
    let connect = async {
        let meter = Arc::new(Meter::default());
        let stream = socket::open(address, tls, &meter).await.map_err(|error| error.to_string())?;
        let connection = PubSub::new(&sentinel.login, stream).await.map_err(|error| describe(&error))?;
        let (mut sink, stream) = connection.split();
        sink.subscribe(CHANNEL).await.map_err(|error| describe(&error))?;
        Ok::<_, String>((sink, stream, meter))
    };
    let (mut sink, mut messages, meter) = in_time(connect).await??;
    let note = |now: Address| {
        master.send_if_modified(|known| known.replace(now.clone()).as_ref() != Some(&now));
    };
    // What it said before it was listened to.
    if let Ok(now) = sentinel.ask(address, tls).await {
        note(now);
        pace.reset();
    }
    loop {
        match tokio::time::timeout(PING, messages.next()).await {
            Ok(Some(message)) => {
                meter.complete();
                let text = std::str::from_utf8(message.get_payload_bytes()).unwrap_or_default();
                sentinel.heard(text).into_iter().for_each(note);
            }
            Ok(None) => return Err("the connection was closed".into()),
            Err(_) => {
                in_time(sink.ping::<redis::Value>()).await?.map_err(|error| describe(&error))?;
                meter.complete();
            }
        }
    }
}

async fn in_time<T>(answer: impl Future<Output = T>) -> Result<T, String> {
    tokio::time::timeout(ANSWER, answer).await.map_err(|_| "no answer".to_owned())
}
