//! Queues: start-up checks, bulk adds, reads and settings.

use std::time::Duration;

use bullrush::connection::{Link, LinkOptions};
use bullrush::error::Error;
use bullrush::protocol::{JobBatch, Keys, NewJob};
use bullrush::queue::{QueueHandle, QueueOptions};
use bullrush::scripts::fetch::move_to_active;

use crate::proxy::Proxy;
use crate::scripts::PLAN;
use crate::server::{endpoint, number, run, text, timeout, until, Server};

pub fn queue(link: &Link) -> QueueHandle {
    let keys = Keys::new("bull", "q").unwrap();
    QueueHandle::new(link.clone(), link.clone(), keys, QueueOptions::default())
}

pub fn job(data: &str) -> NewJob<'_> {
    NewJob {
        name: "job",
        data: data.as_bytes(),
        opts: br#"{"attempts":0}"#,
        id: None,
        timestamp: 1_795_225_366_409,
        delay: 0,
        priority: 0,
        lifo: false,
    }
}

#[tokio::test]
async fn a_queue_writes_meta_before_its_first_write() {
    let server = Server::start();
    let queue = queue(&server.link());
    queue.ready().await.unwrap();
    assert_eq!(queue.get_meta().await.unwrap(), []);
    queue.writable().await.unwrap();
    let mut meta = queue.get_meta().await.unwrap();
    meta.sort();
    let expected = [("opts.maxLenEvents", "10000"), ("version", "bullmq:5.62.0")];
    assert_eq!(meta, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn keys_of_an_old_bull_queue_are_not_changed() {
    let server = Server::start();
    let link = server.link();
    run(&link, "SADD bull:q:completed 1").await;
    let error = queue(&link).add_jobs(&JobBatch::new()).await.unwrap_err();
    let Error::LegacyQueue(text) = error else { panic!("{error:?}") };
    assert!(text.contains("bull:q:completed") && text.contains("another"), "{text}");
    assert_eq!(number(&link, "EXISTS bull:q:meta").await, 0);
}

#[tokio::test]
async fn a_large_batch_arrives_complete_and_in_order() {
    let server = Server::start();
    let link = server.link();
    let queue = queue(&link);
    let payloads: Vec<String> = (0..3_000).map(|n| format!("{{\"n\":{n}}}")).collect();
    let mut batch = JobBatch::new();
    for payload in &payloads {
        batch.push(job(payload));
    }
    let added = queue.add_jobs(&batch).await.unwrap();
    let ids: Vec<String> = (1..=3_000).map(|id| id.to_string()).collect();
    assert_eq!(added.ids, ids);
    assert!(added.duplicates.is_empty());
    let waiting = queue.get_jobs(&["wait"], 0, -1, true).await.unwrap();
    let data: Vec<&[u8]> = waiting.iter().flatten().map(bullrush::protocol::JobRecord::data).collect();
    assert_eq!(data, payloads.iter().map(String::as_bytes).collect::<Vec<_>>());
}

#[tokio::test]
async fn duplicates_are_reported_by_their_position_in_the_whole_batch() {
    let server = Server::start();
    let queue = queue(&server.link());
    let ids: Vec<String> = (0..600).map(|n| format!("id-{n}")).collect();
    let mut first = JobBatch::new();
    for id in ids.iter().step_by(100) {
        first.push(NewJob { id: Some(id), ..job("1") });
    }
    queue.add_jobs(&first).await.unwrap();
    let mut second = JobBatch::new();
    second.push(job("2"));
    for id in &ids {
        second.push(NewJob { id: Some(id), ..job("2") });
    }
    let added = queue.add_jobs(&second).await.unwrap();
    assert_eq!(added.duplicates, [1, 101, 201, 301, 401, 501]);
    assert_eq!(added.ids[1..], ids);
    assert_eq!(added.ids[0], "7");
    assert_eq!(queue.get_job("id-100").await.unwrap().unwrap().data(), b"1");
    assert_eq!(queue.get_job("id-101").await.unwrap().unwrap().data(), b"2");
}

#[tokio::test]
async fn a_payload_beyond_the_cap_goes_alone() {
    let server = Server::start();
    let queue = queue(&server.link());
    let large = format!("\"{}\"", "x".repeat(2 << 20));
    let mut batch = JobBatch::new();
    for data in ["1", &large, "2"] {
        batch.push(job(data));
    }
    assert_eq!(batch.chunks().map(|chunk| chunk.range()).collect::<Vec<_>>(), [0..1, 1..2, 2..3]);
    assert_eq!(queue.add_jobs(&batch).await.unwrap().ids, ["1", "2", "3"]);
}

#[tokio::test]
async fn a_lost_reply_to_automatic_ids_is_reported_and_custom_ids_are_sent_again() {
    let server = Server::start();
    let observer = server.link();
    let proxy = Proxy::to(server.port()).await;
    let link = Link::open(endpoint(&format!("redis://127.0.0.1:{}", proxy.port)), timeout(10_000));
    let queue = queue(&link);
    let mut warm_up = JobBatch::new();
    warm_up.push(job("1"));
    queue.add_jobs(&warm_up).await.unwrap();
    for id in [None, Some("custom")] {
        let mut batch = JobBatch::new();
        batch.push(NewJob { id, ..job("1") });
        let (added, ()) = tokio::join!(queue.add_jobs(&batch), proxy.lose_a_reply());
        match (id, added) {
            (None, Err(Error::OutcomeUnknown(_))) => {}
            (Some(_), Ok(added)) => assert_eq!(added.ids, ["custom"]),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(number(&observer, "LLEN bull:q:wait").await, 3);
}

#[tokio::test]
async fn settings_are_written_and_lifted() {
    let server = Server::start();
    let link = server.link();
    let queue = queue(&link);
    queue.set_global_concurrency(Some(3)).await.unwrap();
    queue.set_global_rate_limit(Some((10, 1_000))).await.unwrap();
    for (field, value) in [("concurrency", "3"), ("max", "10"), ("duration", "1000")] {
        assert_eq!(text(&link, &format!("HGET bull:q:meta {field}")).await, value);
    }
    queue.set_global_concurrency(None).await.unwrap();
    queue.set_global_rate_limit(None).await.unwrap();
    assert_eq!(number(&link, "HLEN bull:q:meta").await, 2);
    queue.rate_limit(Duration::from_secs(60)).await.unwrap();
    assert_eq!(text(&link, "GET bull:q:limiter").await, "9007199254740991");
    assert!(!queue.is_paused().await.unwrap());
}

#[tokio::test]
async fn logs_are_read_from_either_end() {
    let server = Server::start();
    let link = server.link();
    let queue = queue(&link);
    run(&link, "RPUSH bull:q:1:logs a b c").await;
    assert_eq!(queue.get_job_logs("1", 0, 1, true).await.unwrap(), (vec!["a".into(), "b".into()], 3));
    assert_eq!(queue.get_job_logs("1", 0, 1, false).await.unwrap(), (vec!["c".into(), "b".into()], 3));
    assert_eq!(queue.get_job("1").await.unwrap(), None);
}

#[tokio::test]
async fn a_pending_bulk_add_does_not_delay_short_calls() {
    let server = Server::start();
    let bulk = server.link();
    let link = Link::open(server.endpoint(), LinkOptions::default());
    let keys = Keys::new("bull", "q").unwrap();
    let queue = QueueHandle::new(link.clone(), bulk, keys.clone(), QueueOptions::default());
    let mut batch = JobBatch::new();
    for _ in 0..5_000 {
        batch.push(job("{}"));
    }
    let (added, fetched) = tokio::join!(queue.add_jobs(&batch), async {
        until("jobs arrive", || async { number(&link, "LLEN bull:q:wait").await > 0 }).await;
        move_to_active(&link, &keys, 1, &PLAN).await
    });
    assert_eq!(added.unwrap().ids.len(), 5_000);
    assert_eq!(fetched.unwrap().jobs.len(), 10);
}
