//! One connection to one server: a socket, the task that drives it, and a meter that counts its bytes.
//!
//! Replies have no numbers: one that is swallowed or doubled on the way would make each later one the answer to another
//! call. So behind the commands of each call goes `ECHO <number>`, and no reply of the call is believed before its
//! number has come back.

use std::future::{self, Future};
use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};
use tokio::task::AbortHandle;

use super::fault::{describe, inspect, Fault};
use super::proof::{Proof, Proofs, Verdict};
use super::socket::{Address, Meter, WriteEnd};
use super::topology::Located;
use super::{Numbers, Proven, ServerInfo};
use crate::mutex::Mutex;

/// The SHA-1 of no script: to ask for it changes nothing, and is refused at once.
const NO_SCRIPT: &str = "0000000000000000000000000000000000000000";

/// Why a connection is closed whose replies are not believed.
pub(super) const OUT_OF_STEP: &str = "a reply got lost on the way, came twice, or is that of another call";

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum NoReply {
    /// Not a byte of the command reached the kernel.
    NotSent(String),
    /// Sent, and perhaps executed.
    Unknown(String),
    /// The caller's timeout is over.
    Late,
    /// Sent, and perhaps executed: the replies are those of other calls. The connection is dead.
    OutOfStep,
}

impl NoReply {
    pub fn into_reason(self) -> String {
        match self {
            NoReply::NotSent(reason) | NoReply::Unknown(reason) => reason,
            NoReply::Late => "no answer".to_owned(),
            NoReply::OutOfStep => OUT_OF_STEP.to_owned(),
        }
    }
}

/// What has come while a reply is due. It stays the same while the server is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Bytes(u64),
    Replies(u64),
}

pub(super) struct Wire {
    pub generation: u64,
    pub server: ServerInfo,
    /// By which the server knows the connection, if this user may ask for it.
    pub(super) client_id: Option<i64>,
    /// Why an older connection, on which replies are due, could not be ended at the server.
    pub(super) left_open: Mutex<Option<String>>,
    /// The server was asked to end it: what it has not got yet takes effect no more, unless it has refused that.
    pub(super) ended: AtomicBool,
    /// It is known that this server only reads.
    pub refuses: bool,
    /// A command got a reply: this is a Redis server, not only an open port.
    pub proven: AtomicBool,
    pub(super) conn: MultiplexedConnection,
    pub(super) meter: Arc<Meter>,
    pub(super) write_end: Arc<WriteEnd>,
    pub(super) located: Option<Located>,
    pub(super) in_flight: AtomicUsize,
    /// The number of bytes read, plus one, when a caller last gave up a reply.
    pub(super) given_up_at: AtomicU64,
    /// The replies that callers gave up and that have not come, by their numbers.
    pub(super) given_up: Mutex<Vec<Range<u64>>>,
    pub(super) proofs: Proofs,
    /// Its replies are those of other calls.
    pub(super) distrusted: AtomicBool,
    pub(super) driver: AbortHandle,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Wire {
    pub async fn send(&self, cmd: &Cmd, proven: Proven) -> Result<Value, NoReply> {
        let call = pin!(self.hand_over(cmd));
        let Proven::ByItself = proven else { return self.prove(call, 1, |reply| !self.proofs.know(reply)).await };
        let (in_flight, before) = (self.begin_call(1), self.meter.written());
        let reply = call.await;
        in_flight.complete();
        match reply {
            // Whatever becomes of the proof, the call was sent.
            Ok(Value::ServerError(_)) => match Box::pin(self.prove(future::ready(reply), 0, |_| true)).await {
                Err(NoReply::NotSent(reason)) => Err(NoReply::Unknown(reason)),
                proven => proven,
            },
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.no_reply(before, &error)),
        }
    }

    pub async fn send_all(&self, pipeline: &Pipeline, count: usize) -> Result<Vec<Value>, NoReply> {
        let call = pin!(self.hand_over_all(pipeline, count));
        self.prove(call, count, |replies| !replies.iter().any(|reply| self.proofs.know(reply))).await
    }

    /// Sends commands in one write. With numbers between their replies, too, none is taken for that to the command
    /// beside it.
    pub async fn send_each<'a>(
        &self,
        cmds: impl IntoIterator<Item = &'a Cmd>,
        numbers: Numbers,
    ) -> Result<Vec<Value>, NoReply> {
        let mut pipeline = Pipeline::new();
        // For each command that is sent, the number if it is one.
        let mut sent: Vec<Option<Proof>> = Vec::new();
        for cmd in cmds {
            let is_due = numbers == Numbers::Between && !sent.is_empty();
            if let Some(proof) = is_due.then(|| self.proofs.next()).flatten() {
                pipeline.add_command(proof.cmd().clone());
                sent.push(Some(proof));
            }
            pipeline.add_command(cmd.clone());
            sent.push(None);
        }
        let fits = |(proof, reply): (&Option<Proof>, &Value)| match proof {
            Some(proof) => proof.judge(reply) != Verdict::OutOfStep,
            None => !self.proofs.know(reply),
        };
        let call = pin!(self.hand_over_all(&pipeline, sent.len()));
        let replies = self.prove(call, sent.len(), |replies| sent.iter().zip(replies).all(fits)).await?;
        Ok(sent.iter().zip(replies).filter(|(proof, _)| proof.is_none()).map(|(_, reply)| reply).collect())
    }

    async fn hand_over_all(&self, pipeline: &Pipeline, count: usize) -> RedisResult<Vec<Value>> {
        self.meter.note_calls(count);
        self.conn.clone().send_packed_commands(pipeline, 0, count).await
    }

    async fn hand_over(&self, cmd: &Cmd) -> RedisResult<Value> {
        self.meter.note_calls(1);
        self.conn.clone().send_packed_command(cmd).await
    }

    /// Sends a proof behind a call of so many commands, and returns their replies once they are proven; `fits` says
    /// whether they can be its own.
    async fn prove<T>(
        &self,
        call: impl Future<Output = RedisResult<T>>,
        count: usize,
        fits: impl FnOnce(&T) -> bool,
    ) -> Result<T, NoReply> {
        let proof = self.proofs.next();
        let in_flight = self.begin_call(count + usize::from(proof.is_some()));
        let before = self.meter.written();
        // Both are handed over before either waits, so both go out in one write.
        let answer = async {
            let replies = call.await.map_err(|error| self.no_reply(before, &error))?;
            // At once: a number among the replies may be the last that comes.
            if fits(&replies) {
                Ok(replies)
            } else {
                Err(NoReply::OutOfStep)
            }
        };
        let proven = async {
            let Some(proof) = &proof else { return Ok(()) };
            let number = match self.hand_over(proof.cmd()).await {
                // The server closes an ended connection before it answers the proof.
                Err(_) if self.write_end.is_asked() => return Ok(()),
                number => number.map_err(|error| self.no_reply(before, &error))?,
            };
            match proof.judge(&number) {
                Verdict::Proven | Verdict::RefusedNow => Ok(()),
                Verdict::Denied => {
                    self.proofs.denied();
                    Ok(())
                }
                Verdict::OutOfStep => Err(NoReply::OutOfStep),
            }
        };
        let (answer, proven) = (pin!(answer), pin!(proven));
        let replies = tokio::try_join!(answer, proven).map(|(replies, ())| replies);
        in_flight.complete();
        if matches!(replies, Err(NoReply::OutOfStep)) {
            self.distrust();
        }
        // What came behind a wrong number is not believed either.
        if self.distrusted.load(Ordering::Acquire) && replies.is_ok() {
            return Err(NoReply::OutOfStep);
        }
        replies
    }

    /// Ends the connection, since its replies are those of other calls, or of no call at all.
    pub fn distrust(&self) {
        self.distrusted.store(true, Ordering::Release);
        self.kill();
    }

    /// Whether the server has executed all that was sent here, or was asked to end the connection.
    pub fn is_settled(&self) -> bool {
        self.ended.load(Ordering::Acquire) || self.meter.replies() >= self.meter.calls()
    }

    /// Whether calls that have ended without a reply may take effect yet. Calls that still wait for theirs may get it.
    pub fn owes(&self) -> bool {
        let replies = self.meter.replies();
        let has_ended = || self.is_dead() || self.given_up.lock().iter().any(|due| due.end > replies);
        !self.is_settled() && has_ended()
    }

    /// Ends an older connection at the server, unless that was another server: what it was sent and has not arrived there
    /// is dropped, whatever the network still delivers. Otherwise a request could take effect after later ones.
    ///
    /// # Errors
    /// The server executes nothing now.
    pub async fn end_older(&self, older: &Wire) -> Result<(), Fault> {
        let run_id = &self.server.run_id;
        if older.generation == self.generation {
            return Ok(()); // what comes later comes behind it
        }
        if run_id.is_empty() || *run_id == older.server.run_id {
            // The ids of another server would be those of other clients.
            let id = older.client_id.filter(|_| !run_id.is_empty());
            let refusal = match id {
                None => Some("the user may not use CLIENT ID and INFO".to_owned()),
                Some(id) => {
                    let mut end = redis::cmd("CLIENT");
                    end.arg("KILL").arg("ID").arg(id);
                    let Ok(reply) = self.send(&end, Proven::Behind).await else { return Ok(()) }; // the next one does it
                    match inspect(reply) {
                        Ok(_) => None,
                        Err(Fault::ForCaller(error)) => Some(error.to_string()),
                        Err(fault) => return Err(fault),
                    }
                }
            };
            if refusal.is_some() {
                *self.left_open.lock() = refusal;
            }
        }
        older.ended.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether the server executes scripts now. It executes none while it is busy, or paused, be it for writes only.
    pub async fn answers(&self) -> bool {
        let mut unknown = redis::cmd("EVALSHA");
        unknown.arg(NO_SCRIPT).arg(0);
        match self.send(&unknown, Proven::Behind).await.map(inspect) {
            Ok(reply) => !matches!(reply, Err(Fault::Busy(_))),
            Err(_) => false,
        }
    }

    /// How many bytes were written since the last ones came.
    pub fn unanswered(&self) -> u64 {
        self.meter.unanswered()
    }

    /// How many bytes of an upload the other side has got, while it takes place.
    pub fn uploaded(&self) -> Option<u64> {
        self.meter.uploaded()
    }

    /// Which server it is, if Sentinels have named it.
    pub fn named_by_sentinels(&self) -> Option<&Address> {
        self.located.as_ref().filter(|located| located.is_named_by_sentinels()).map(|located| &located.address)
    }

    /// Returns another server when it is known to be the right one.
    pub async fn moved(&self) -> Address {
        match &self.located {
            Some(located) => located.moved().await,
            None => future::pending().await,
        }
    }

    /// Whether writes wait, since another server becomes the right one.
    pub fn is_closed_to_writes(&self) -> bool {
        self.located.as_ref().is_some_and(Located::is_closed_to_writes)
    }

    /// Waits while writes wait.
    pub async fn opened_to_writes(&self) {
        if let Some(located) = &self.located {
            located.opened_to_writes().await;
        }
    }

    /// Sends nothing more. The server closes the connection then; what it has sent before can still be read.
    pub fn end_writing(&self) {
        self.write_end.ask();
    }

    /// Ends the connection; calls in flight get an error.
    pub fn kill(&self) {
        self.driver.abort();
    }

    pub fn is_dead(&self) -> bool {
        self.distrusted.load(Ordering::Acquire) || self.driver.is_finished()
    }

    /// What has come so far, while a reply is due; `None` when no reply is due.
    ///
    /// A reply that was given up counts as due until the next byte comes. If it is the next one that has to come, bytes
    /// do not count: a part of it may be lost, and then the replies of later calls are taken for the rest of it.
    pub fn awaiting(&self) -> Option<Progress> {
        let (read, replies) = (self.meter.read(), self.meter.replies());
        let mut given_up = self.given_up.lock();
        given_up.retain(|due| due.end > replies);
        if given_up.iter().any(|due| due.contains(&replies)) {
            return Some(Progress::Replies(replies));
        }
        let is_due = self.in_flight.load(Ordering::Acquire) > 0 || self.given_up_at.load(Ordering::Acquire) == read + 1;
        is_due.then_some(Progress::Bytes(read))
    }

    pub fn abort_handle(&self) -> AbortHandle {
        self.driver.clone()
    }

    /// Notes a call that is handed over next, with so many replies.
    fn begin_call(&self, replies: usize) -> InFlightCall<'_> {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        let first = self.meter.calls();
        InFlightCall { wire: self, due: first..first + replies as u64, completed: false }
    }

    fn no_reply(&self, written_before: u64, error: &RedisError) -> NoReply {
        let reason = describe(error);
        if self.meter.written() == written_before {
            NoReply::NotSent(reason)
        } else {
            NoReply::Unknown(reason)
        }
    }
}

/// A call that waits for its reply. Dropping it before gives up the reply.
struct InFlightCall<'a> {
    wire: &'a Wire,
    /// The numbers of its replies.
    due: Range<u64>,
    completed: bool,
}

impl InFlightCall<'_> {
    fn complete(mut self) {
        self.completed = true;
        self.wire.meter.complete();
    }
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        if !self.completed {
            self.wire.given_up_at.store(self.wire.meter.read() + 1, Ordering::Release);
            self.wire.given_up.lock().push(self.due.clone());
        }
        self.wire.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
