//! Waiting for the marker without losing one.

use std::time::Duration;

use bullrush::connection::BlockingLink;
use bullrush::error::Error;

use crate::proxy::Proxy;
use crate::server::{endpoint, number, run, text, until, Server};

const KEY: &str = "bull:q:marker";

#[tokio::test]
async fn a_wait_returns_the_lowest_marker_or_nothing() {
    let server = Server::start();
    let link = server.link();
    let mut blocking = BlockingLink::new(server.endpoint(), Some("bull:cQ==".into()));
    assert_eq!(blocking.wait_marker(KEY, Duration::from_millis(10)).await, Ok(None));
    assert!(text(&link, "CLIENT LIST").await.contains("name=bull:cQ=="));
    run(&link, &format!("ZADD {KEY} 1795225891427.25 1 0 0")).await;
    assert_eq!(blocking.wait_marker(KEY, Duration::from_secs(5)).await, Ok(Some(("0".into(), 0.0))));
    let delayed = blocking.wait_marker(KEY, Duration::from_secs(5)).await;
    assert_eq!(delayed, Ok(Some(("1".into(), 1_795_225_891_427.25))));
}

#[tokio::test]
async fn a_cancelled_wait_takes_no_marker() {
    let server = Server::start();
    let link = server.link();
    let mut blocking = BlockingLink::new(server.endpoint(), Some("waiter".into()));
    let given_up =
        tokio::time::timeout(Duration::from_millis(50), blocking.wait_marker(KEY, Duration::from_secs(60))).await;
    assert!(given_up.is_err());
    until("the socket is closed", || async { !text(&link, "CLIENT LIST").await.contains("waiter") }).await;
    run(&link, &format!("ZADD {KEY} 0 0")).await;
    assert_eq!(number(&link, &format!("ZCARD {KEY}")).await, 1);
    assert_eq!(blocking.wait_marker(KEY, Duration::from_secs(5)).await, Ok(Some(("0".into(), 0.0))));
}

#[tokio::test]
async fn a_connection_that_swallows_everything_is_noticed_and_the_next_wait_reconnects() {
    let server = Server::start();
    let link = server.link();
    let proxy = Proxy::to(server.port()).await;
    let mut blocking = BlockingLink::new(endpoint(&format!("redis://127.0.0.1:{}", proxy.port)), None);
    blocking.connect().await.unwrap();
    proxy.swallow(true);
    let lost = blocking.wait_marker(KEY, Duration::from_millis(50)).await;
    assert!(matches!(lost, Err(Error::ConnectionLost(_))), "{lost:?}");
    proxy.swallow(false);
    run(&link, &format!("ZADD {KEY} 0 0")).await;
    assert_eq!(blocking.wait_marker(KEY, Duration::from_secs(5)).await, Ok(Some(("0".into(), 0.0))));
}

#[tokio::test]
async fn a_wait_on_a_closed_link_ends() {
    let server = Server::start();
    let mut blocking = BlockingLink::new(server.endpoint(), None);
    blocking.close();
    assert_eq!(blocking.wait_marker(KEY, Duration::from_secs(5)).await, Err(Error::Closed));
}
