//! Keeps the subscriptions of one endpoint: connects, subscribes what is wanted, and passes messages on.
//!
//! All changes of subscriptions are made here, one after the other.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use redis::aio::{PubSub, PubSubSink, PubSubStream};
use redis::{Msg, RedisError, RedisResult};
use tokio::time::Instant;

use super::shared::Shared;
use crate::connection::connect_error::ConnectError;
use crate::connection::ending::Ending;
use crate::connection::fault::{describe, server_error};
use crate::connection::pace::Pace;
use crate::connection::setup::CONNECT_TIMEOUT;
use crate::connection::socket::{self, Meter};
use crate::connection::topology::Located;
use crate::connection::Endpoint;
use crate::error::Error;

/// How long the server may take to confirm a subscription.
const ANSWER: Duration = Duration::from_secs(5);
/// How often the server is asked for a sign of life, since a connection without messages may be dead.
const PING: Duration = Duration::from_secs(5);
/// Pause before a channel is tried again that the server refuses.
const AFTER_REFUSAL: Duration = Duration::from_secs(5);

/// How a connection ended.
enum End {
    /// Nobody listens any more.
    Unused,
    Lost(String),
}

/// Runs until nobody listens.
pub(super) async fn keep(shared: Arc<Shared>) {
    let mut pace = Pace::new(shared.endpoint.longest_pause());
    loop {
        pace.wait().await;
        if shared.registry.lock().stop_if_unused() {
            return;
        }
        let meter = Arc::new(Meter::of_short_messages());
        let (reason, refusal) = match connect(&shared.endpoint, &meter).await {
            Ok(connection) => match connection.serve(&shared, &mut pace).await {
                End::Unused => continue,
                End::Lost(reason) => (meter.reason(reason), None),
            },
            Err(ConnectError::Retry(reason)) => (reason, None),
            Err(ConnectError::Fatal(refusal)) => (refusal.to_string(), Some(refusal)),
        };
        if meter.is_refused() {
            let server = &shared.endpoint;
            tracing::warn!(%server, reason, "the messages of other programs have stopped for a moment");
        }
        tracing::debug!(endpoint = %shared.endpoint, reason, "no subscriptions");
        shared.registry.lock().disconnect(&reason, refusal.as_ref());
        pace.failed();
    }
}

async fn connect(endpoint: &Endpoint, meter: &Arc<Meter>) -> Result<Connection, ConnectError> {
    let set_up = async {
        let located = endpoint.locate().await?;
        let stream = socket::open(&located.address, endpoint.tls(), meter)
            .await
            .map_err(|error| ConnectError::socket(&located.address, &error))?;
        let connection = PubSub::new(endpoint.login(), stream)
            .await
            .map_err(|error| ConnectError::login(&located.address, meter, &error))?;
        meter.take_all();
        let (sink, stream) = connection.split();
        let meter = meter.clone();
        Ok(Connection { located: Arc::new(located), sink, stream, meter, subscribed: HashMap::new() })
    };
    match tokio::time::timeout(CONNECT_TIMEOUT, set_up).await {
        Ok(connected) => connected,
        Err(_) => Err(ConnectError::Retry(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()))),
    }
}

struct Connection {
    located: Arc<Located>,
    sink: PubSubSink,
    stream: PubSubStream,
    meter: Arc<Meter>,
    /// The channels that were asked for. With a time: refused, and then asked for again.
    subscribed: HashMap<Arc<str>, Option<Instant>>,
}

impl Connection {
    async fn serve(mut self, shared: &Shared, pace: &mut Pace) -> End {
        let mut ping = tokio::time::interval_at(Instant::now() + PING, PING);
        ping.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let next_change = match self.follow(shared, pace).await {
                Ok(next_change) => next_change,
                Err(end) => return end,
            };
            let changed = async {
                tokio::select! {
                    () = shared.changed.notified() => {}
                    () = sleep_until(next_change) => {}
                }
            };
            let located = self.located.clone();
            let moved = located.moved();
            tokio::pin!(changed, moved);
            loop {
                tokio::select! {
                    biased;
                    () = &mut changed => break,
                    now = &mut moved => return End::Lost(Ending::Moved(Some(now)).to_string()),
                    message = self.stream.next() => match message {
                        Some(message) => self.pass_on(shared, message),
                        None => return End::Lost("the connection was closed".to_owned()),
                    },
                    _ = ping.tick() => {
                        let mut sink = self.sink.clone();
                        if let Err(reason) = self.answered(sink.ping::<redis::Value>()).await {
                            return End::Lost(reason.0);
                        }
                    }
                }
            }
        }
    }

    /// Subscribes what is wanted, and unsubscribes the rest. Returns when to do this again.
    async fn follow(&mut self, shared: &Shared, pace: &mut Pace) -> Result<Option<Instant>, End> {
        let (wanted, next) = shared.registry.lock().wanted();
        if wanted.is_empty() {
            return Err(End::Unused);
        }
        let is_wanted = |name: &Arc<str>| wanted.iter().any(|(wanted, _)| wanted == name);
        let unwanted: Vec<Arc<str>> = self.subscribed.keys().filter(|name| !is_wanted(name)).cloned().collect();
        for name in unwanted {
            self.subscribed.remove(&name);
            let mut sink = self.sink.clone();
            self.answered(sink.unsubscribe(&*name)).await.map_err(|reason| End::Lost(reason.0))?;
        }
        for (name, is_refused) in wanted {
            let may_try = |retry: &Option<Instant>| retry.is_some_and(|at| !is_refused || at <= Instant::now());
            if !self.subscribed.get(&name).is_none_or(may_try) {
                continue;
            }
            let mut sink = self.sink.clone();
            let refused = match self.answered(sink.subscribe(&*name)).await {
                Ok(()) => None,
                Err(NoAnswer(_, Some(refusal))) => Some(refusal),
                Err(NoAnswer(reason, None)) => return Err(End::Lost(reason)),
            };
            self.subscribed.insert(name.clone(), refused.is_some().then(|| Instant::now() + AFTER_REFUSAL));
            match refused {
                None => {
                    pace.reset();
                    shared.registry.lock().confirm(&name);
                }
                Some(refusal) => shared.registry.lock().refuse(&name, refusal),
            }
        }
        let retries = self.subscribed.values().flatten().min().copied();
        Ok(next.into_iter().chain(retries).min())
    }

    /// Waits for the answer to a call.
    async fn answered<T>(&self, answer: impl Future<Output = RedisResult<T>>) -> Result<T, NoAnswer> {
        let answer = tokio::time::timeout(ANSWER, answer).await;
        self.meter.take();
        match answer {
            Ok(answer) => answer.map_err(|error| no_answer(&error)),
            Err(_) => Err(NoAnswer("the server stopped answering".to_owned(), None)),
        }
    }

    /// Passes on a message, and those that are there already.
    fn pass_on(&mut self, shared: &Shared, message: Msg) {
        let registry = shared.registry.lock();
        let mut next = Some(message);
        while let Some(message) = next {
            self.meter.take();
            if let Ok(text) = std::str::from_utf8(message.get_payload_bytes()) {
                registry.dispatch(message.get_channel_name(), text);
            }
            next = self.stream.next().now_or_never().flatten();
        }
        self.meter.complete();
    }
}

/// Why there is no answer, and the error if the server has refused.
struct NoAnswer(String, Option<Error>);

fn no_answer(error: &RedisError) -> NoAnswer {
    let refusal = redis::ServerError::try_from(error.clone()).ok().map(|error| server_error(&error));
    NoAnswer(describe(error), refusal)
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
