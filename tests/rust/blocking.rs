//! Waiting for the marker without losing one.

use std::future::pending;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bullrush::connection::{BlockingLink, Link};
use bullrush::error::Error;
use bullrush::events::Reader;
use bullrush::protocol::Keys;
use bullrush::worker::fetch::{Fetcher, Marker, MarkerWaiter, Watch};
use bullrush::worker::lanes::Lane;
use futures_util::FutureExt;

use crate::fake::{bulk, confirmed, greeted, Fake};
use crate::proxy::Proxy;
use crate::server::{endpoint, number, run, text, timeout, until, Server};

const KEY: &str = "bull:q:marker";

#[tokio::test]
async fn a_wait_returns_the_lowest_marker_or_nothing() {
    let server = Server::start();
    let link = server.link();
    let mut blocking = BlockingLink::new(server.endpoint(), Some("bull:cQ==".into()));
    assert_eq!(blocking.wait_marker(KEY, Duration::from_millis(10), pending()).await, Ok(None));
    assert!(text(&link, "CLIENT LIST").await.contains("name=bull:cQ=="));
    run(&link, &format!("ZADD {KEY} 1795225891427.25 1 0 0")).await;
    assert_eq!(blocking.wait_marker(KEY, Duration::from_secs(5), pending()).await, Ok(Some(("0".into(), 0.0))));
    let delayed = blocking.wait_marker(KEY, Duration::from_secs(5), pending()).await;
    assert_eq!(delayed, Ok(Some(("1".into(), 1_795_225_891_427.25))));
}

#[tokio::test]
async fn an_ended_wait_takes_no_marker_that_is_set_after_it() {
    let server = Server::start();
    let link = server.link();
    for _ in 0..20 {
        let mut blocking = BlockingLink::new(server.endpoint(), Some("waiter".into()));
        let waits = || async { text(&link, "INFO clients").await.contains("blocked_clients:1\r") };
        let ended = until("it waits", waits);
        assert_eq!(blocking.wait_marker(KEY, Duration::from_secs(60), ended).await, Ok(None));
        run(&link, &format!("ZADD {KEY} 0 0")).await;
        assert_eq!(number(&link, &format!("ZREM {KEY} 0")).await, 1);
    }
}

#[tokio::test]
async fn an_ended_wait_returns_the_marker_that_was_popped_before() {
    let server = Server::start();
    let (link, proxy) = (server.link(), Proxy::to(server.port()).await);
    let blocking = BlockingLink::new(endpoint(&format!("redis://127.0.0.1:{}", proxy.port)), None);
    let lane = Arc::new(Lane::single(Keys::new("bull", "q").unwrap()));
    let mut waiter = MarkerWaiter::new(blocking, Arc::default());
    waiter.start_waiting(Watch { lanes: vec![lane], timeout: Duration::from_secs(60) });
    let blocked =
        |count| text(&link, "INFO clients").map(move |info| info.contains(&format!("blocked_clients:{count}\r")));
    until("it waits", || blocked(1)).await;
    proxy.hold_replies(true);
    run(&link, &format!("ZADD {KEY} 0 0")).await;
    until("the reply is on its way", || async { proxy.held() == 1 }).await;
    let end = async {
        let clients = || async { text(&link, "INFO clients").await };
        until("the server has closed", || clients().map(|info| info.contains("connected_clients:1\r"))).await;
        proxy.hold_replies(false);
    };
    let (popped, ()) = tokio::join!(waiter.end(), end);
    assert_eq!(popped.unwrap().unwrap().map(|marker| marker.member), Some("0".to_owned()));
}

#[tokio::test]
async fn a_wait_can_be_ended_although_the_server_does_not_answer() {
    let server = Server::start();
    let proxy = Proxy::to(server.port()).await;
    let mut blocking = BlockingLink::new(endpoint(&format!("redis://127.0.0.1:{}", proxy.port)), None);
    blocking.connect().await.unwrap();
    proxy.swallow(true);
    let ended = until("it is sent", || async { proxy.swallowed() > 0 });
    let wait = blocking.wait_marker(KEY, Duration::from_secs(600), ended);
    assert_eq!(tokio::time::timeout(Duration::from_secs(30), wait).await, Ok(Ok(None)));
}

#[tokio::test]
async fn a_cancelled_wait_takes_no_marker() {
    let server = Server::start();
    let link = server.link();
    let mut blocking = BlockingLink::new(server.endpoint(), Some("waiter".into()));
    let given_up =
        tokio::time::timeout(Duration::from_millis(50), blocking.wait_marker(KEY, Duration::from_secs(60), pending()))
            .await;
    assert!(given_up.is_err());
    until("the socket is closed", || async { !text(&link, "CLIENT LIST").await.contains("waiter") }).await;
    run(&link, &format!("ZADD {KEY} 0 0")).await;
    assert_eq!(number(&link, &format!("ZCARD {KEY}")).await, 1);
    assert_eq!(blocking.wait_marker(KEY, Duration::from_secs(5), pending()).await, Ok(Some(("0".into(), 0.0))));
}

#[tokio::test]
async fn a_connection_that_swallows_everything_is_noticed_and_the_next_wait_reconnects() {
    let server = Server::start();
    let link = server.link();
    let proxy = Proxy::to(server.port()).await;
    let mut blocking = BlockingLink::new(endpoint(&format!("redis://127.0.0.1:{}", proxy.port)), None);
    blocking.connect().await.unwrap();
    proxy.swallow(true);
    let lost = blocking.wait_marker(KEY, Duration::from_millis(50), pending()).await;
    assert!(matches!(lost, Err(Error::ConnectionLost(_))), "{lost:?}");
    proxy.swallow(false);
    run(&link, &format!("ZADD {KEY} 0 0")).await;
    assert_eq!(blocking.wait_marker(KEY, Duration::from_secs(5), pending()).await, Ok(Some(("0".into(), 0.0))));
}

#[tokio::test]
async fn a_wait_on_a_closed_link_ends() {
    let server = Server::start();
    let mut blocking = BlockingLink::new(server.endpoint(), None);
    blocking.close();
    assert_eq!(blocking.wait_marker(KEY, Duration::from_secs(5), pending()).await, Err(Error::Closed));
}

#[tokio::test]
async fn a_marker_that_is_put_back_does_not_replace_an_earlier_one_that_came_meanwhile() {
    let server = Server::start();
    let link = server.link();
    let lane = Arc::new(Lane::single(Keys::new("bull", "q").unwrap()));
    let fetcher = Fetcher::new(link.clone(), "worker".to_owned());
    for (stored, kept) in [(5_000, "5000"), (9_000, "7000")] {
        run(&link, &format!("ZADD {} {stored} 1", lane.keys.marker())).await;
        fetcher.put_back(vec![(lane.clone(), Marker { lane: 0, member: "1".to_owned(), score: 7_000.0 })]).await;
        assert_eq!(text(&link, &format!("ZSCORE {} 1", lane.keys.marker())).await, kept);
    }
}

#[tokio::test]
async fn a_wait_for_markers_goes_to_the_server_of_the_calls_although_a_sentinel_has_named_another_one() {
    let (right, wrong) = (Server::start(), Server::start());
    let named = Arc::new(AtomicU16::new(right.port()));
    let said = named.clone();
    let (port, _) = Fake::start(move |_, words| match words[0].as_str() {
        "SENTINEL" => format!("*2\r\n{}{}", bulk("127.0.0.1"), bulk(&said.load(Ordering::SeqCst).to_string())),
        "SUBSCRIBE" | "PSUBSCRIBE" => confirmed(words),
        _ => "+OK\r\n".into(),
    })
    .await;
    let endpoint = endpoint(&format!("redis+sentinel://127.0.0.1:{port}/main"));
    let link = Link::open(endpoint.clone(), timeout(20_000));
    run(&link, "PING").await;
    named.store(wrong.port(), Ordering::SeqCst);
    let mut blocking = BlockingLink::new(endpoint, None).beside(&link);
    blocking.connect().await.unwrap();
    named.store(right.port(), Ordering::SeqCst);
    run(&right.link(), "ZADD marker 0 0").await;
    let mut popped = None;
    for _ in 0..3 {
        popped = popped.or(blocking.wait_marker("marker", Duration::from_millis(300), pending()).await.unwrap());
    }
    assert_eq!(popped, Some(("0".into(), 0.0)));
}

#[tokio::test]
async fn a_reader_of_events_whose_waits_break_connects_with_pauses_that_grow() {
    let (port, fake) = Fake::start(|_, words| match words[0].as_str() {
        "XREVRANGE" => "*0\r\n".into(),
        "XREAD" => "+no stream\r\n".into(),
        _ => greeted(words).unwrap_or_else(|| "+OK\r\n".into()),
    })
    .await;
    let keys = Keys::new("bull", "q").unwrap();
    let at = endpoint(&format!("redis://127.0.0.1:{port}/0"));
    let mut reader = Reader::new(at, "reader".into(), &keys, Duration::from_secs(5));
    let began = Instant::now();
    for _ in 0..5 {
        let position = reader.connect(None).await.unwrap();
        let read = reader.read(&position).await;
        assert!(matches!(read, Err(Error::ConnectionLost(_))), "{read:?}");
    }
    assert_eq!(fake.made(), 5);
    assert!(began.elapsed() > Duration::from_millis(300), "{:?}", began.elapsed());
}
