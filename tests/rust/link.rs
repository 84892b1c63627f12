//! The link without faults, and its errors.

use std::time::{Duration, Instant};

use bullrush::connection::{Link, LinkOptions, LinkState, Pool, Retry};
use bullrush::error::Error;

use crate::server::{endpoint, number, run, text, timeout, until, Server};

#[tokio::test]
async fn a_link_connects_when_first_used() {
    let server = Server::start();
    let observer = server.link();
    let link = server.link();
    assert_eq!(link.server(), None);
    assert_eq!(number(&observer, "DBSIZE").await, 0);
    assert!(matches!(*link.watch().borrow(), LinkState::Connecting { attempt: 0, error: None }));
    assert_eq!(text(&link, "PING").await, "PONG");
    assert!(link.server().unwrap().version.split('.').count() >= 2);
    assert!(!link.server().unwrap().cluster);
    assert_eq!(*link.watch().borrow(), LinkState::Connected { generation: 1, refuses: false });
}

#[tokio::test]
async fn a_link_speaks_over_a_unix_socket() {
    let server = Server::start();
    let link = Link::open(endpoint(&format!("unix://{}?db=3", server.socket().display())), timeout(5_000));
    run(&link, "SET key value").await;
    assert_eq!(text(&link, "GET key").await, "value");
    assert!(text(&link, "CLIENT INFO").await.contains("db=3"));
}

#[tokio::test]
async fn error_replies_carry_their_code() {
    let server = Server::start();
    let link = server.link();
    run(&link, "SET key value").await;
    let wrong = link.call(redis::cmd("LPUSH").arg("key").arg("x").clone(), Retry::Safe).await;
    assert!(matches!(wrong, Err(Error::Server { code, .. }) if code == "WRONGTYPE"));
}

#[tokio::test]
async fn a_pipeline_gives_each_command_its_own_result() {
    let server = Server::start();
    let link = server.link();
    let commands = [redis::cmd("PING"), redis::cmd("NOSUCH"), redis::cmd("DBSIZE")];
    let results = link.pipeline(&commands, Retry::Safe).await.unwrap();
    assert!(results[0].is_ok());
    assert!(matches!(&results[1], Err(Error::Server { code, .. }) if code == "ERR"));
    assert_eq!(results[2], Ok(redis::Value::Int(0)));
}

#[tokio::test]
async fn an_out_of_memory_error_inside_a_script_has_its_own_code() {
    let server = Server::start();
    let link = server.link();
    run(&link, "CONFIG SET maxmemory 1").await;
    let mut eval = redis::cmd("EVAL");
    eval.arg("return redis.call('SET', KEYS[1], 'x')").arg(1).arg("key");
    let result = link.call(eval, Retry::Never).await;
    assert!(matches!(result, Err(Error::Server { code, .. }) if code == "OOM"));
}

#[tokio::test]
async fn a_timeout_is_an_error_that_names_the_server_and_hides_the_password() {
    let server = Server::reserve(&[]);
    let link = Link::open(endpoint(&format!("redis://user:s3cret@127.0.0.1:{}/0", server.port())), timeout(200));
    let error = link.call(redis::cmd("PING"), Retry::Never).await.unwrap_err();
    let Error::ConnectionLost(text) = &error else { panic!("{error:?}") };
    assert!(text.contains(&format!("127.0.0.1:{}", server.port())), "{text}");
    assert!(text.contains("refused"), "{text}");
    for shown in
        [text.clone(), format!("{:?} {}", link.endpoint(), link.endpoint()), format!("{:?}", link.watch().borrow())]
    {
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

#[tokio::test]
async fn a_wrong_password_fails_calls_at_once_and_the_link_works_after_its_repair() {
    let server = Server::start_with(&["--requirepass", "right"]);
    let link = Link::open(endpoint(&format!("redis://:s3cret@127.0.0.1:{}/0", server.port())), timeout(20_000));
    let started = Instant::now();
    let error = link.call(redis::cmd("PING"), Retry::Never).await.unwrap_err();
    assert!(matches!(&error, Error::Server { code, .. } if code == "WRONGPASS"), "{error:?}");
    assert!(!error.to_string().contains("s3cret"));
    assert!(started.elapsed() < Duration::from_secs(5));

    let open = Link::open(endpoint(&format!("redis://127.0.0.1:{}/0", server.port())), timeout(20_000));
    let error = open.call(redis::cmd("PING"), Retry::Never).await.unwrap_err();
    assert!(matches!(&error, Error::Server { code, .. } if code == "NOAUTH"), "{error:?}");

    let admin = Link::open(endpoint(&format!("redis://:right@127.0.0.1:{}/0", server.port())), timeout(5_000));
    run(&admin, "CONFIG SET requirepass s3cret").await;
    until("the link gets in", || async { link.call(redis::cmd("PING"), Retry::Never).await.is_ok() }).await;
}

#[tokio::test]
async fn a_closed_link_fails_all_calls_at_once() {
    let server = Server::reserve(&[]);
    let link = Link::open(server.endpoint(), LinkOptions::default());
    let waiting = tokio::spawn({
        let link = link.clone();
        async move { link.call(redis::cmd("PING"), Retry::Safe).await }
    });
    tokio::task::yield_now().await;
    link.close();
    assert_eq!(waiting.await.unwrap(), Err(Error::Closed));
    assert_eq!(link.call(redis::cmd("PING"), Retry::Safe).await, Err(Error::Closed));
    assert_eq!(*link.watch().borrow(), LinkState::Closed);
}

#[tokio::test]
async fn the_last_clone_closes_the_connection() {
    let server = Server::start();
    let observer = server.link();
    let link = Link::open(server.endpoint(), LinkOptions { client_name: Some("short-lived".into()), ..timeout(5_000) });
    let clone = link.with_connect_timeout(None);
    drop(link);
    run(&clone, "PING").await;
    assert!(text(&observer, "CLIENT LIST").await.contains("short-lived"));
    drop(clone);
    let gone = || async { !text(&observer, "CLIENT LIST").await.contains("short-lived") };
    until("the connection is gone", gone).await;
}

#[tokio::test]
async fn a_pool_shares_links_by_endpoint_and_reopens_closed_ones() {
    let server = Server::start();
    let observer = server.link();
    run(&observer, "PING").await;
    let pool = Pool::new();
    run(&pool.command(&server.endpoint()), "PING").await;
    run(&pool.command(&server.endpoint()), "PING").await;
    assert_eq!(text(&observer, "CLIENT LIST").await.lines().count(), 2);
    run(&pool.bulk(&server.endpoint()), "PING").await;
    assert_eq!(text(&observer, "CLIENT LIST").await.lines().count(), 3);
    pool.command(&server.endpoint()).close();
    assert_eq!(text(&pool.command(&server.endpoint()), "PING").await, "PONG");
}

#[tokio::test]
async fn the_last_user_of_a_pool_closes_its_link_after_a_moment() {
    let server = Server::start();
    let observer = server.link();
    let pool = Pool::new();
    let first = pool.command(&server.endpoint());
    run(&first, "PING").await;
    let id = text(&first, "CLIENT ID").await;
    drop(first);
    // A user that comes soon finds it open.
    let second = pool.command(&server.endpoint());
    assert_eq!(text(&second, "CLIENT ID").await, id);
    let third = pool.command(&server.endpoint());
    drop(second);
    assert_eq!(text(&third, "CLIENT ID").await, id);
    drop(third);
    let alone = || async { text(&observer, "CLIENT LIST").await.lines().count() == 1 };
    until("only the observer is connected", alone).await;
    assert_eq!(text(&pool.command(&server.endpoint()), "PING").await, "PONG");
}

#[tokio::test]
async fn an_unused_link_does_not_reconnect_to_a_stopped_server() {
    let mut server = Server::start();
    let pool = Pool::new();
    let link = pool.command(&server.endpoint());
    run(&link, "PING").await;
    let states = link.watch();
    drop(link);
    server.kill();
    until("the link has closed", || async { *states.borrow() == LinkState::Closed }).await;
}

#[tokio::test]
async fn a_value_that_the_server_never_accepts_has_its_own_error() {
    let server = Server::start_with(&["--proto-max-bulk-len", "1mb"]);
    let link = server.link();
    let mut set = redis::cmd("SET");
    set.arg("key").arg("x".repeat(3 << 20));
    for _ in 0..3 {
        let error = link.call(&set, Retry::Never).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge(_)), "{error:?}");
    }
    assert_eq!(number(&link, "EXISTS key").await, 0);
}

#[tokio::test]
async fn a_server_without_tls_is_an_error_at_once() {
    let server = Server::start();
    let link = Link::open(endpoint(&format!("rediss://127.0.0.1:{}/0", server.port())), timeout(60_000));
    let started = Instant::now();
    let error = link.call(redis::cmd("PING"), Retry::Never).await.unwrap_err();
    assert!(matches!(&error, Error::ConnectionLost(text) if text.contains("does not speak TLS")), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(30));
}
