//! A reader of event streams goes on whoever takes what it has read, and whatever other servers do.

use std::net::TcpListener;
use std::time::Duration;

use bullrush::connection::Link;
use bullrush::protocol::Keys;
use bullrush::recorder::{Followed, Reader, Seen};

use crate::server::{endpoint, run, text, until, Server};

const SOON: Duration = Duration::from_secs(10);
/// What the stream of a test keeps, and how many entries come at once.
const KEPT: usize = 300;
const PAGE: usize = 100;
/// After so many more reads they have surely reached the reader: it sends the next one when it has taken the last one.
const READS: usize = 5;

fn followed(server: &Server, queue: &str) -> Followed {
    Followed { endpoint: server.endpoint(), keys: Keys::new("bull", queue).unwrap(), after: None }
}

async fn add(link: &Link, queue: &str, entries: usize) {
    for number in 0..entries {
        run(link, &format!("XADD bull:{queue}:events MAXLEN {KEPT} * event active jobId {number} prev waiting")).await;
    }
}

/// How often streams were read.
async fn reads(link: &Link) -> usize {
    let stats = text(link, "INFO commandstats").await;
    let calls =
        stats.lines().find_map(|line| line.strip_prefix("cmdstat_xread:calls=")?.split(',').next()?.parse().ok());
    calls.unwrap_or(0)
}

async fn taken(reader: &Reader, events: usize) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    while seen.iter().map(|seen| seen.events.len()).sum::<usize>() < events {
        let batch = tokio::time::timeout(SOON, reader.next(SOON)).await.expect("a batch in time");
        seen.extend(batch.expect("it is open").seen);
    }
    seen
}

#[tokio::test]
async fn it_reads_on_while_nobody_takes_what_it_has_read() {
    let server = Server::start();
    let (link, reader) = (server.link(), Reader::new("recorder".into(), 20_000));
    reader.follow(vec![followed(&server, "mail")]);
    for _ in 0..10 {
        add(&link, "mail", PAGE).await;
        let before = reads(&link).await;
        until("the entries were read", || async { reads(&link).await >= before + READS }).await;
    }
    let seen = taken(&reader, 10 * PAGE).await;
    assert!(seen.iter().all(|seen| seen.gap.is_none() && seen.share == 1 && seen.error.is_none()));
}

#[tokio::test]
async fn a_server_that_does_not_answer_holds_up_no_other() {
    let (server, mute) = (Server::start(), TcpListener::bind("127.0.0.1:0").unwrap());
    let (link, reader) = (server.link(), Reader::new("recorder".into(), 20_000));
    let nowhere = endpoint(&format!("redis://{}/0", mute.local_addr().unwrap()));
    let mute = Followed { endpoint: nowhere, keys: Keys::new("bull", "lost").unwrap(), after: None };
    reader.follow(vec![mute, followed(&server, "mail")]);
    for _ in 0..5 {
        add(&link, "mail", 1).await;
        let seen = tokio::time::timeout(Duration::from_secs(1), taken(&reader, 1)).await.expect("it is not held up");
        assert_eq!(seen[0].queue, "mail");
    }
    // The other one has not even been given up.
    assert!(reader.next(Duration::ZERO).await.unwrap().until.is_none());
}

#[tokio::test]
async fn after_the_end_the_rest_can_be_taken_and_the_connection_is_closed() {
    let server = Server::start();
    let (link, reader) = (server.link(), Reader::new("recorder".into(), 20_000));
    reader.follow(vec![followed(&server, "mail")]);
    add(&link, "mail", PAGE).await;
    let before = reads(&link).await;
    until("the entries were read", || async { reads(&link).await >= before + READS }).await;
    reader.close();
    reader.follow(vec![followed(&server, "video")]);
    assert_eq!(reader.next(SOON).await.unwrap().seen[0].events.len(), PAGE);
    assert!(reader.next(SOON).await.is_none());
    until("it is closed", || async { !text(&link, "CLIENT LIST").await.contains("name=recorder") }).await;
}
