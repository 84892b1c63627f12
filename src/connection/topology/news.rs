//! What Sentinels publish when another server becomes the master.
//!
//! Without it a planned failover loses writes: the old master takes them for about ten seconds more, until a Sentinel
//! makes it a replica and closes its connections. All Sentinels are listened to: the one that leads the failover says
//! it first, the others up to two seconds later, and one of them may be cut off from the others. Only the one that
//! leads says when it begins.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{self, Future};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::StreamExt;
use redis::aio::{PubSub, PubSubSink};
use tokio::sync::watch;

use super::gate::Gate;
use super::message::{Message, BEGUN, GIVEN_UP, SWITCHED};
use super::sentinel::Sentinel;
use crate::connection::fault::describe;
use crate::connection::pace::Pace;
use crate::connection::socket::{self, Address, Meter, Tls};

/// The longest pause before a Sentinel that is gone is tried again.
const PAUSE: Duration = Duration::from_secs(5);
/// How often a Sentinel is asked for a sign of life, and how long it may take.
const PING: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(5);
/// How long Sentinels are listened to when there is no connection any more: a new one comes soon, above all after a
/// failover.
const LINGER: Duration = Duration::from_secs(2);

/// What is heard about one master.
struct Heard {
    /// Which server it is, as a Sentinel has said it last.
    master: watch::Sender<Option<Address>>,
    gate: Arc<Gate>,
}

thread_local! {
    /// What is listened to, by URL. Of this thread only: a forked child, whose runtime has a thread of its own, begins
    /// anew.
    static LISTENERS: RefCell<HashMap<String, Weak<Heard>>> = RefCell::default();
}

/// What one connection hears of its Sentinels since it looked for the master.
pub(super) struct News {
    master: watch::Receiver<Option<Address>>,
    gate: Arc<Gate>,
}

impl News {
    /// Listens to the Sentinels of a URL, together with all who have the same one. Call inside a tokio runtime.
    pub fn of(url: &str, sentinel: &Arc<Sentinel>, tls: Option<&Tls>) -> Self {
        LISTENERS.with_borrow_mut(|listeners| {
            if let Some(heard) = listeners.get(url).and_then(Weak::upgrade) {
                return heard.follow();
            }
            listeners.retain(|_, heard| heard.strong_count() > 0);
            let heard = Arc::new(Heard { master: watch::Sender::new(None), gate: Arc::new(Gate::new()) });
            listeners.insert(url.to_owned(), Arc::downgrade(&heard));
            let news = heard.follow();
            tokio::spawn(listen(sentinel.clone(), tls.cloned(), heard));
            news
        })
    }

    /// Where writes wait while another server becomes the master.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Returns the master when a Sentinel says that it is another server than this one.
    pub async fn moved_from(&self, address: &Address) -> Address {
        let mut master = self.master.clone();
        while master.changed().await.is_ok() {
            if let Some(now) = master.borrow_and_update().as_ref().filter(|now| *now != address) {
                return now.clone();
            }
        }
        future::pending().await
    }
}

impl Heard {
    fn follow(&self) -> News {
        News { master: self.master.subscribe(), gate: self.gate.clone() }
    }

    fn name(&self, now: Address) {
        self.master.send_if_modified(|known| known.replace(now.clone()).as_ref() != Some(&now));
    }

    /// Heeds a message of the Sentinel at this address.
    fn heed(&self, message: Message, by: &Address) {
        match message {
            Message::Switched(now) => self.name(now),
            Message::Begun(master) => self.gate.close(master, by),
            Message::GivenUp(master) => self.gate.open(&master, by),
        }
    }
}

/// Listens to all Sentinels as long as somebody wants to know.
async fn listen(sentinel: Arc<Sentinel>, tls: Option<Tls>, heard: Arc<Heard>) {
    let unused = async {
        while heard.master.receiver_count() > 0 {
            heard.master.closed().await;
            tokio::time::sleep(LINGER).await;
        }
    };
    let all = sentinel.addresses.iter().map(|address| follow(&sentinel, address, tls.as_ref(), &heard));
    tokio::select! {
        () = unused => {}
        _ = join_all(all) => {}
    }
}

/// Listens to one Sentinel for ever.
async fn follow(sentinel: &Sentinel, address: &Address, tls: Option<&Tls>, heard: &Heard) {
    let mut pace = Pace::new(PAUSE);
    let mut was_refused = false;
    loop {
        let meter = Arc::new(Meter::of_short_messages());
        let Err(reason) = hear(sentinel, address, tls, heard, &meter, &mut pace).await;
        let reason = meter.reason(reason);
        if meter.is_refused() && !std::mem::replace(&mut was_refused, true) {
            tracing::warn!(sentinel = %address, reason, "this is no Sentinel, or a broken one");
        }
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
    heard: &Heard,
    meter: &Arc<Meter>,
    pace: &mut Pace,
) -> Result<std::convert::Infallible, String> {
    let connect = async {
        let stream = socket::open(address, tls, meter).await.map_err(|error| error.to_string())?;
        let connection = PubSub::new(&sentinel.login, stream).await.map_err(|error| describe(&error))?;
        meter.take_all();
        let (mut sink, stream) = connection.split();
        sink.subscribe(SWITCHED).await.map_err(|error| describe(&error))?;
        meter.take();
        match hear_begin(&mut sink, meter).await {
            // A user of the Sentinels may have the right to the first channel only.
            Err(refusal) if refusal.code().is_some() => {
                tracing::warn!(sentinel = %address, %refusal, "the Sentinel does not say when a failover begins");
            }
            heard => heard.map_err(|error| describe(&error))?,
        }
        Ok::<_, String>((sink, stream))
    };
    let (mut sink, mut messages) = in_time(connect).await??;
    // What it said before it was listened to.
    if let Ok(now) = sentinel.ask(address, tls).await {
        heard.name(now);
        pace.reset();
    }
    loop {
        match tokio::time::timeout(PING, messages.next()).await {
            Ok(Some(message)) => {
                meter.take();
                meter.complete();
                let text = std::str::from_utf8(message.get_payload_bytes()).unwrap_or_default();
                let message = Message::read(&sentinel.service, message.get_channel_name(), text);
                message.into_iter().for_each(|message| heard.heed(message, address));
            }
            Ok(None) => return Err("the connection was closed".into()),
            Err(_) => {
                in_time(sink.ping::<redis::Value>()).await?.map_err(|error| describe(&error))?;
                meter.take();
                meter.complete();
            }
        }
    }
}

async fn hear_begin(sink: &mut PubSubSink, meter: &Meter) -> redis::RedisResult<()> {
    for channel in BEGUN {
        let heard = sink.subscribe(channel).await;
        meter.take();
        heard?;
    }
    let heard = sink.psubscribe(GIVEN_UP).await;
    meter.take();
    heard
}

async fn in_time<T>(answer: impl Future<Output = T>) -> Result<T, String> {
    tokio::time::timeout(ANSWER, answer).await.map_err(|_| "no answer".to_owned())
}
