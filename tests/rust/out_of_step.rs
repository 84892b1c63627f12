//! Replies that are lost, doubled or swapped on the way while the connection stays open.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use bullrush::connection::{BlockingLink, Link, LinkOptions, Retry};
use bullrush::error::Error;
use bullrush::events::Reader;
use bullrush::protocol::{reply, JobBatch, Keys};
use bullrush::queue::{QueueHandle, QueueOptions};
use redis::Value;

use crate::proxy::{Disorder, Proxy};
use crate::queue::{job, queue};
use crate::server::{endpoint, number, run, text, timeout, until, Server};

const DISORDERS: [Disorder; 3] = [Disorder::Lost, Disorder::Doubled, Disorder::Swapped];
/// Calls at once: their replies, and the proofs of these, come in one read or in several.
const CALLS: usize = 4;

fn through(proxy: &Proxy, options: LinkOptions) -> Link {
    Link::open(endpoint(&format!("redis://127.0.0.1:{}/0", proxy.port)), options)
}

async fn get(link: Link, key: usize) -> (usize, String) {
    let value = link.call(redis::cmd("GET").arg(key).clone(), Retry::Look).await.unwrap();
    (key, reply::text(value).unwrap())
}

/// Starts a call for each key at once, and returns what they got.
async fn all_at_once<F>(call: impl Fn(usize) -> F) -> Vec<F::Output>
where
    F: std::future::Future + Send + 'static,
    F::Output: Send + 'static,
{
    let calls: Vec<_> = (0..CALLS).map(|key| tokio::spawn(call(key))).collect();
    let mut results = Vec::new();
    for call in calls {
        results.push(call.await.unwrap());
    }
    results
}

#[tokio::test]
async fn no_read_gets_the_reply_to_another_one_whatever_reply_is_lost_doubled_or_swapped() {
    let server = Server::start();
    let observer = server.link();
    for key in 0..CALLS {
        run(&observer, &format!("SET {key} value-{key}")).await;
    }
    for disorder in DISORDERS {
        for after in 0..2 * CALLS {
            let proxy = Proxy::to(server.port()).await;
            let link = through(&proxy, timeout(30_000));
            run(&link, "PING").await;
            proxy.disturb(after, disorder);
            // Again and again until it has happened, and once after it.
            let mut last = false;
            while !last {
                last = proxy.has_disturbed();
                for (key, value) in all_at_once(|key| get(link.clone(), key)).await {
                    assert_eq!(value, format!("value-{key}"), "{disorder:?} after {after}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_read_whose_reply_has_a_shape_that_it_cannot_have_is_made_again_on_another_connection() {
    let server = Server::start();
    let link = server.link();
    run(&link, "PING").await;
    let (before, tries) = (link.generation(), AtomicUsize::new(0));
    let read = || async {
        let reply = link.call(redis::cmd("PING"), Retry::Look).await?;
        match tries.fetch_add(1, Ordering::Relaxed) {
            0 => reply::array(reply).map(drop),
            _ => reply::text(reply).map(drop),
        }
    };
    link.look(read).await.unwrap();
    assert_eq!(tries.load(Ordering::Relaxed), 2);
    assert!(link.generation() > before);
}

#[tokio::test]
async fn a_write_whose_reply_is_not_proven_has_an_unknown_outcome_and_is_never_an_error_of_the_server() {
    let server = Server::start();
    let observer = server.link();
    for disorder in DISORDERS {
        for after in 0..2 * CALLS {
            let proxy = Proxy::to(server.port()).await;
            let link = through(&proxy, timeout(30_000));
            run(&link, "PING").await;
            proxy.disturb(after, disorder);
            let add = |key: usize| {
                let link = link.clone();
                // Another shape for each, so that a reply of another call is none that it can have.
                let mut cmd = redis::cmd(if key.is_multiple_of(2) { "INCR" } else { "RPUSH" });
                cmd.arg(format!("{disorder:?}-{after}-{key}"));
                if !key.is_multiple_of(2) {
                    cmd.arg("x").arg("y");
                }
                async move { (key, link.call(cmd, Retry::Never).await) }
            };
            for (key, result) in all_at_once(add).await {
                let expected = if key.is_multiple_of(2) { 1 } else { 2 };
                let is_own = result == Ok(Value::Int(expected));
                assert!(is_own || matches!(result, Err(Error::OutcomeUnknown(_))), "{disorder:?} {after}: {result:?}");
            }
            assert_eq!(text(&link, "PING").await, "PONG", "the link works again");
        }
    }
    run(&observer, "PING").await;
}

#[tokio::test]
async fn an_add_never_gets_the_id_of_another_job_and_is_never_sent_twice() {
    let server = Server::start();
    let observer = server.link();
    for disorder in DISORDERS.into_iter().chain([Disorder::Preceded]) {
        for after in 0..CALLS {
            let proxy = Proxy::to(server.port()).await;
            let link = through(&proxy, timeout(30_000));
            let queue = Arc::new(queue(&link));
            queue.writable().await.unwrap();
            proxy.disturb(after, disorder);
            let add = |number: usize| {
                let queue = queue.clone();
                let data = format!("{disorder:?}-{after}-{number}");
                async move {
                    let mut batch = JobBatch::new();
                    batch.push(job(&data));
                    let added = queue.add_jobs(&batch).await;
                    (data, added)
                }
            };
            for (data, added) in all_at_once(add).await {
                match added {
                    Ok(added) => {
                        let stored = text(&observer, &format!("HGET bull:q:{} data", added.ids[0])).await;
                        assert_eq!(stored, data, "{disorder:?} after {after}");
                    }
                    Err(error) => assert!(matches!(error, Error::OutcomeUnknown(_)), "{disorder:?} {after}: {error:?}"),
                }
            }
            let mut stored = Vec::new();
            for id in reply::texts(run(&observer, "LRANGE bull:q:wait 0 -1").await).unwrap() {
                stored.push(text(&observer, &format!("HGET bull:q:{id} data")).await);
            }
            let count = stored.len();
            stored.sort_unstable();
            stored.dedup();
            assert_eq!(stored.len(), count, "{disorder:?} after {after}: none is stored twice");
            run(&observer, "DEL bull:q:wait").await;
        }
    }
}

#[tokio::test]
async fn an_error_that_belongs_to_another_add_is_not_believed() {
    let server = Server::start();
    let observer = server.link();
    let mut batch = JobBatch::new();
    batch.push(job("{}"));
    for disorder in DISORDERS {
        for (after, good_first) in [(0, true), (0, false), (1, true), (1, false)] {
            let context = format!("{disorder:?} {after} {good_first}");
            run(&observer, "FLUSHALL").await;
            let proxy = Proxy::to(server.port()).await;
            let link = through(&proxy, timeout(30_000));
            let damaged = Keys::new("bull", "damaged").unwrap();
            let bad = QueueHandle::new(link.clone(), link.clone(), damaged, QueueOptions::default());
            let good = queue(&link);
            good.add_jobs(&batch).await.unwrap();
            bad.writable().await.unwrap();
            run(&observer, "SET bull:damaged:wait text").await;
            proxy.disturb(after, disorder);
            let (added, refused) = match good_first {
                true => tokio::join!(good.add_jobs(&batch), bad.add_jobs(&batch)),
                false => {
                    let (refused, added) = tokio::join!(bad.add_jobs(&batch), good.add_jobs(&batch));
                    (added, refused)
                }
            };
            assert!(matches!(added, Ok(_) | Err(Error::OutcomeUnknown(_))), "its job is stored: {context} {added:?}");
            let is_own = matches!(&refused, Err(Error::Server { code, .. }) if code == "WRONGTYPE");
            assert!(is_own || matches!(refused, Err(Error::OutcomeUnknown(_))), "{context} {refused:?}");
            assert_eq!(number(&observer, "LLEN bull:q:wait").await, 2, "{context}");
        }
    }
}

#[tokio::test]
async fn a_queue_is_not_taken_for_one_of_bull_since_replies_of_one_round_trip_have_changed_places() {
    let server = Server::start();
    let mut batch = JobBatch::new();
    batch.push(job("{}"));
    queue(&server.link()).add_jobs(&batch).await.unwrap();
    for after in 0..31 {
        let proxy = Proxy::to(server.port()).await;
        let link = through(&proxy, timeout(30_000));
        run(&link, "PING").await;
        proxy.disturb(after, Disorder::Swapped);
        let ready = queue(&link).ready().await;
        assert_eq!(ready, Ok(()), "after {after}");
        assert!(proxy.has_disturbed(), "after {after}");
    }
}

#[tokio::test]
async fn each_command_of_a_pipeline_gets_its_own_reply() {
    let server = Server::start();
    let observer = server.link();
    for key in 0..CALLS {
        run(&observer, &format!("SET {key} value-{key}")).await;
    }
    let commands: Vec<_> = (0..CALLS).map(|key| redis::cmd("GET").arg(key).clone()).collect();
    for disorder in DISORDERS {
        // Between the replies come numbers.
        for after in 0..2 * CALLS {
            let proxy = Proxy::to(server.port()).await;
            let link = through(&proxy, timeout(30_000));
            run(&link, "PING").await;
            proxy.disturb(after, disorder);
            for _ in 0..2 {
                for (key, value) in link.pipeline(&commands, Retry::Look).await.unwrap().into_iter().enumerate() {
                    assert_eq!(reply::text(value.unwrap()).unwrap(), format!("value-{key}"), "{disorder:?} {after}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_lost_reply_is_noticed_at_once_and_not_after_the_silence_of_a_dead_server() {
    let server = Server::start();
    let proxy = Proxy::to(server.port()).await;
    // Without a proof this link would wait for a minute.
    let link = through(&proxy, LinkOptions { silence: Duration::from_secs(15), ..timeout(60_000) });
    run(&link, "SET key value").await;
    proxy.disturb(0, Disorder::Lost);
    let answered = tokio::time::timeout(Duration::from_secs(10), text(&link, "GET key")).await;
    assert_eq!(answered.as_deref(), Ok("value"));
    assert_eq!(link.generation(), Some(2));
}

#[tokio::test]
async fn a_link_whose_replies_are_taken_for_the_rest_of_one_that_nobody_waits_for_is_left() {
    let server = Server::start();
    run(&server.link(), &format!("SET long {}", "x".repeat(20_000))).await;
    let proxy = Proxy::to(server.port()).await;
    let link = through(&proxy, LinkOptions { silence: Duration::from_millis(300), ..LinkOptions::default() });
    let link = link.with_call_timeout(Some(Duration::from_millis(200)));
    run(&link, "PING").await;
    proxy.disturb(0, Disorder::Pierced);
    assert!(link.call(redis::cmd("GET").arg("long"), Retry::Look).await.is_err());
    until("calls are answered again, which send something all the time", || async {
        link.call(redis::cmd("PING"), Retry::Never).await.is_ok()
    })
    .await;
    assert_eq!(link.generation(), Some(2));
}

#[tokio::test]
async fn a_marker_that_is_the_reply_to_another_call_wakes_nobody() {
    let server = Server::start();
    let link = server.link();
    for disorder in DISORDERS {
        let proxy = Proxy::to(server.port()).await;
        let mut blocking = BlockingLink::new(endpoint(&format!("redis://127.0.0.1:{}", proxy.port)), None);
        blocking.connect().await.unwrap();
        run(&link, "ZADD marker 0 0").await;
        proxy.disturb(0, disorder);
        let popped = blocking.wait_marker("marker", Duration::from_secs(5), pending()).await;
        assert!(matches!(&popped, Err(Error::ConnectionLost(_))), "{disorder:?}: {popped:?}");
        run(&link, "ZADD marker 0 0").await;
        assert_eq!(
            blocking.wait_marker("marker", Duration::from_secs(5), pending()).await,
            Ok(Some(("0".into(), 0.0)))
        );
    }
}

#[tokio::test]
async fn a_reply_of_a_shape_that_its_call_cannot_have_closes_the_connection() {
    let server = Server::start();
    let link = server.link();
    run(&link, "SET key value").await;
    for (retry, generation) in [(Retry::Look, 2), (Retry::Never, 3)] {
        let read = link.call(redis::cmd("GET").arg("key"), retry).await.and_then(reply::integer);
        let error = link.believe(retry, read).unwrap_err();
        let is_broken = match retry {
            Retry::Look => matches!(error, Error::ConnectionLost(_)),
            _ => matches!(error, Error::OutcomeUnknown(_)),
        };
        assert!(is_broken, "{error:?}");
        until("the link has connected anew", || async { link.generation() == Some(generation) }).await;
    }
}

#[tokio::test]
async fn a_user_who_may_not_use_the_proof_works_as_before() {
    let server = Server::start();
    let observer = server.link();
    run(&observer, "ACL SETUSER plain on >word ~* &* +@all -echo").await;
    let link = Link::open(endpoint(&format!("redis://plain:word@127.0.0.1:{}/0", server.port())), timeout(10_000));
    run(&link, "SET key value").await;
    for _ in 0..3 {
        assert_eq!(text(&link, "GET key").await, "value");
    }
    assert_eq!(link.generation(), Some(1));
    let mut blocking = BlockingLink::new(link.endpoint().clone(), None);
    run(&observer, "ZADD marker 0 0").await;
    assert_eq!(blocking.wait_marker("marker", Duration::from_secs(5), pending()).await, Ok(Some(("0".into(), 0.0))));
    // It is asked once for each connection.
    let refused = text(&observer, "INFO errorstats").await;
    assert!(refused.contains("errorstat_NOPERM:count=2"), "{refused}");
    assert_eq!(number(&observer, "EXISTS key").await, 1);
}

#[tokio::test]
async fn a_new_connection_whose_first_replies_are_lost_or_doubled_is_made_anew() {
    let server = Server::start();
    for disorder in [Disorder::Lost, Disorder::Doubled] {
        // First come the replies to the name and the version of the library, then two of INFO, and one to the name.
        for after in 2..5 {
            let proxy = Proxy::to(server.port()).await;
            proxy.disturb(after, disorder);
            let link = through(&proxy, LinkOptions { client_name: Some("named".into()), ..timeout(30_000) });
            let info = link.ready().await.unwrap();
            assert!(proxy.has_disturbed() && info.version.contains('.'), "{disorder:?} {after}: {info:?}");
            assert_eq!(text(&link, "CLIENT GETNAME").await, "named", "{disorder:?} {after}");
            assert_eq!(proxy.accepted(), 2, "{disorder:?} {after}");
        }
    }
}

#[tokio::test]
async fn a_reader_of_events_gets_each_event_once_whatever_reply_is_lost_or_doubled() {
    let server = Server::start();
    let observer = server.link();
    let keys = Keys::new("bull", "q").unwrap();
    for disorder in [Disorder::Lost, Disorder::Doubled] {
        let proxy = Proxy::to(server.port()).await;
        let through = endpoint(&format!("redis://127.0.0.1:{}", proxy.port));
        let mut reader = Reader::new(through, "reader".into(), &keys, Duration::from_secs(2));
        let mut position = reader.connect(None).await.unwrap();
        for number in 0..4 {
            let event = text(&observer, &format!("XADD bull:q:events * event {disorder:?}-{number}")).await;
            if number == 1 {
                proxy.disturb(0, disorder);
            }
            let read = async {
                loop {
                    position = match reader.connect(Some(&position)).await {
                        Ok(position) => position,
                        Err(_) => continue,
                    };
                    match reader.read(&position).await {
                        Ok(entries) if !entries.is_empty() => return entries,
                        Ok(_) | Err(Error::ConnectionLost(_)) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            };
            let entries = tokio::time::timeout(Duration::from_secs(20), read).await.unwrap();
            assert!(matches!(&entries[..], [entry] if entry.id == event), "{disorder:?} {number}: {entries:?}");
            position = entries[0].id.clone();
        }
        assert_eq!(proxy.accepted(), 2, "{disorder:?}: it has connected anew");
    }
}
