//! Jobs added one by one go together in script calls.

use std::sync::Arc;

use bullrush::connection::Link;
use bullrush::error::{Error, Result};
use bullrush::protocol::NewJob;
use bullrush::queue::QueueHandle;
use tokio::sync::oneshot;

use crate::proxy::Proxy;
use crate::queue::{job, queue};
use crate::server::{endpoint, number, text, timeout, Server};

type AddResult = oneshot::Receiver<Result<String>>;

/// Adds a job; true if this call sends for itself.
fn add(queue: &Arc<QueueHandle>, job: NewJob<'_>) -> (bool, AddResult) {
    let (sender, outcome) = oneshot::channel();
    let on_done = Box::new(|id| sender.send(id).unwrap());
    let sending = queue.add_job(job, on_done);
    let sends = sending.is_some();
    sending.map(tokio::spawn);
    (sends, outcome)
}

async fn calls(link: &Link) -> usize {
    let stats = text(link, "INFO commandstats").await;
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=")).unwrap_or("0");
    line.split(',').next().unwrap().parse().unwrap()
}

async fn warm(link: &Link) -> Arc<QueueHandle> {
    let queue = Arc::new(queue(link));
    queue.ready().await.unwrap();
    assert_eq!(add(&queue, job("0")).1.await.unwrap().unwrap(), "1");
    queue
}

#[tokio::test]
async fn jobs_added_during_a_call_share_the_next_calls() {
    let server = Server::start();
    let link = server.link();
    let queue = warm(&link).await;
    let before = calls(&link).await;
    let added: Vec<_> = (2..=400).map(|n| add(&queue, job(&n.to_string()))).collect();
    assert_eq!(added.iter().filter(|(sends, _)| *sends).count(), 1);
    for (n, (_, outcome)) in (2..).zip(added) {
        let id = outcome.await.unwrap().unwrap();
        assert_eq!(id, n.to_string());
        assert_eq!(queue.get_job(&id).await.unwrap().unwrap().data(), id.as_bytes());
    }
    assert_eq!(calls(&link).await - before, 3, "one for the first, 250 and 148 jobs");
    assert!(add(&queue, job("last")).0, "with no call in flight a job is sent at once");
}

#[tokio::test]
async fn jobs_too_large_to_share_a_call_do_not() {
    let server = Server::start();
    let link = server.link();
    let queue = warm(&link).await;
    let before = calls(&link).await;
    let large = format!("\"{}\"", "x".repeat(700 << 10));
    let added: Vec<_> = (0..4).map(|_| add(&queue, job(&large)).1).collect();
    for (n, outcome) in (2..).zip(added) {
        assert_eq!(outcome.await.unwrap().unwrap(), n.to_string());
    }
    assert_eq!(calls(&link).await - before, 4);
}

#[tokio::test]
async fn an_id_that_exists_affects_only_its_own_job() {
    let server = Server::start();
    let queue = warm(&server.link()).await;
    let ids = [None, Some("a"), Some("b"), Some("a"), None];
    let added = ids.map(|id| add(&queue, NewJob { id, ..job("1") }).1);
    let expected = ["2", "a", "b", "a", "6"];
    for (outcome, id) in added.into_iter().zip(expected) {
        assert_eq!(outcome.await.unwrap().unwrap(), id);
    }
    assert_eq!(number(&server.link(), "LLEN bull:q:wait").await, 5);
}

#[tokio::test]
async fn only_jobs_with_automatic_ids_have_an_unknown_outcome() {
    let server = Server::start();
    let proxy = Proxy::to(server.port()).await;
    let link = Link::open(endpoint(&format!("redis://127.0.0.1:{}", proxy.port)), timeout(10_000));
    let queue = warm(&link).await;
    for id in [None, Some("mine")] {
        let ((_, first), (_, second)) = (add(&queue, NewJob { id, ..job("1") }), add(&queue, job("2")));
        let ((), first) = tokio::join!(proxy.lose_a_reply(), first);
        match (id, first.unwrap()) {
            (None, Err(Error::OutcomeUnknown(_))) => {}
            (Some(_), Ok(id)) => assert_eq!(id, "mine"),
            other => panic!("{other:?}"),
        }
        second.await.unwrap().unwrap();
    }
    assert_eq!(number(&server.link(), "LLEN bull:q:wait").await, 5);
}

#[tokio::test]
async fn without_a_connection_each_call_waits_alone() {
    let mut server = Server::start();
    let link = Link::open(server.endpoint(), timeout(300));
    let queue = warm(&link).await;
    server.kill();
    while link.is_connected() {
        tokio::task::yield_now().await;
    }
    let added = [add(&queue, job("1")), add(&queue, job("2"))];
    for (sends, outcome) in added {
        assert!(sends);
        assert!(matches!(outcome.await.unwrap(), Err(Error::ConnectionLost(_))));
    }
}
