//! The link with faults: lost connections, lost replies, servers that refuse or stop answering.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use bullrush::connection::{Link, LinkOptions, LinkState, Retry};
use bullrush::error::{Error, Result};
use bullrush::protocol::{reply, JobBatch, Keys, NewJob};
use bullrush::queue::{AddedJobs, QueueHandle, QueueOptions};
use bullrush::scripts::hint::Wake;
use redis::Value;

use crate::fake::{bulk, greeted, Fake};
use crate::proxy::{Disorder, Proxy};
use crate::queue::job;
use crate::server::{endpoint, number, run, text, timeout, until, Server};

fn through(proxy: &Proxy, options: LinkOptions) -> Link {
    Link::open(endpoint(&format!("redis://127.0.0.1:{}/0", proxy.port)), options)
}

#[tokio::test]
async fn a_call_waits_for_a_server_that_starts_late() {
    let mut server = Server::reserve(&[]);
    let link = server.link();
    let call = tokio::spawn({
        let link = link.clone();
        async move { link.call(redis::cmd("INCR").arg("count").clone(), Retry::Never).await }
    });
    let mut states = link.watch();
    let failed = |state: &LinkState| matches!(state, LinkState::Connecting { error: Some(_), .. });
    states.wait_for(failed).await.unwrap();
    server.run();
    assert_eq!(call.await.unwrap(), Ok(Value::Int(1)));
}

#[tokio::test]
async fn an_idle_link_notices_a_lost_connection_and_keeps_its_name() {
    let server = Server::start();
    let observer = server.link();
    let link = Link::open(server.endpoint(), LinkOptions { client_name: Some("named".into()), ..timeout(5_000) });
    run(&link, "PING").await;
    let mut states = link.watch();
    run(&observer, "CLIENT KILL TYPE normal SKIPME yes").await;
    states.wait_for(|state| *state == LinkState::Connected { generation: 2, refuses: false }).await.unwrap();
    assert_eq!(text(&link, "CLIENT GETNAME").await, "named");
}

#[tokio::test]
async fn a_restart_of_the_server_loses_no_call_that_may_be_repeated() {
    let mut server = Server::start();
    let link = server.link();
    run(&link, "PING").await;
    for _ in 0..3 {
        server.kill();
        let calls: Vec<_> = (0..20)
            .map(|_| {
                let link = link.clone();
                tokio::spawn(async move { link.call(redis::cmd("PING"), Retry::Safe).await })
            })
            .collect();
        server.run();
        for call in calls {
            assert_eq!(call.await.unwrap(), Ok(Value::SimpleString("PONG".into())));
        }
    }
}

#[tokio::test]
async fn a_lost_reply_is_reported_or_the_command_repeated() {
    let server = Server::start();
    let observer = server.link();
    let proxy = Proxy::to(server.port()).await;
    let link = through(&proxy, timeout(10_000));
    for (retry, executions) in [(Retry::Never, 1), (Retry::Safe, 2)] {
        run(&observer, "SET count 0").await;
        // Connected, so that the lost reply is not one of the handshake.
        run(&link, "PING").await;
        let mut incr = redis::cmd("INCR");
        incr.arg("count");
        let (reply, ()) = tokio::join!(link.call(incr, retry), proxy.lose_a_reply());
        match (retry, reply) {
            (Retry::Never, Err(Error::OutcomeUnknown(_))) | (Retry::Safe, Ok(Value::Int(2))) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(text(&observer, "GET count").await, executions.to_string());
    }
}

#[tokio::test]
async fn a_connection_to_a_server_that_does_not_answer_is_closed_after_a_while() {
    let server = Server::start();
    let proxy = Proxy::to(server.port()).await;
    let options = LinkOptions { silence: Duration::from_millis(100), ..timeout(10_000) };
    let link = through(&proxy, options);
    run(&link, "PING").await;
    let mut states = link.watch();
    proxy.swallow(true);
    let unknown = link.call(redis::cmd("PING"), Retry::Never).await;
    assert!(matches!(unknown, Err(Error::OutcomeUnknown(_))), "{unknown:?}");
    let call = tokio::spawn({
        let link = link.clone();
        async move { link.call(redis::cmd("PING"), Retry::Safe).await }
    });
    states.wait_for(|state| matches!(state, LinkState::Connecting { .. })).await.unwrap();
    proxy.swallow(false);
    proxy.cut();
    assert!(call.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_read_only_server_is_retried_until_it_accepts_writes() {
    let server = Server::start();
    let admin = server.link();
    run(&admin, "REPLICAOF 127.0.0.1 1").await;
    let link = server.link();
    let mut states = link.watch();
    let call = tokio::spawn({
        let link = link.clone();
        async move { link.call(redis::cmd("INCR").arg("count").clone(), Retry::Never).await }
    });
    let reconnected = |state: &LinkState| matches!(state, LinkState::Connected { generation: 2.., .. });
    states.wait_for(reconnected).await.unwrap();
    run(&admin, "REPLICAOF NO ONE").await;
    assert_eq!(call.await.unwrap(), Ok(Value::Int(1)));
}

#[tokio::test]
async fn a_call_waits_for_a_busy_server() {
    let server = Server::start_with(&["--lua-time-limit", "20"]);
    let (stuck, link, killer) = (server.link(), server.link(), server.link());
    for link in [&stuck, &link, &killer] {
        run(link, "PING").await;
    }
    let endless = tokio::spawn(async move {
        let mut eval = redis::cmd("EVAL");
        eval.arg("while true do end").arg(0);
        stuck.call(eval, Retry::Never).await
    });
    // After the limit every client gets BUSY, the one with a short timeout as an error.
    let without_wait = link.with_connect_timeout(Some(Duration::ZERO));
    let busy = || async {
        let reply = without_wait.call(redis::cmd("DBSIZE"), Retry::Never).await;
        matches!(reply, Err(Error::Server { code, .. }) if code == "BUSY")
    };
    until("the server is busy", busy).await;
    let call = tokio::spawn(async move { number(&link, "DBSIZE").await });
    run(&killer, "SCRIPT KILL").await;
    assert_eq!(call.await.unwrap(), 0);
    assert!(endless.await.unwrap().is_err());
}

#[tokio::test]
async fn a_call_with_a_timeout_ends_in_time_and_the_missing_reply_is_still_noticed() {
    let server = Server::start();
    let proxy = Proxy::to(server.port()).await;
    let options = LinkOptions { silence: Duration::from_millis(300), ..timeout(10_000) };
    let link = through(&proxy, options).with_call_timeout(Some(Duration::from_millis(100)));
    run(&link.with_connect_timeout(Some(Duration::from_secs(10))), "PING").await;
    let mut states = link.watch();
    proxy.swallow(true);
    let look = link.call(redis::cmd("PING"), Retry::Look).await;
    assert!(
        matches!(&look, Err(Error::ConnectionLost(text)) if text.contains("did not answer within 100 ms")),
        "{look:?}"
    );
    for retry in [Retry::Never, Retry::Safe] {
        let write = link.pipeline(&[redis::cmd("PING")], retry).await;
        assert!(matches!(&write, Err(Error::OutcomeUnknown(_))), "{write:?}");
    }
    // No call waits for a reply any more.
    states.wait_for(|state| matches!(state, LinkState::Connecting { .. })).await.unwrap();
}

#[tokio::test]
async fn a_client_that_was_connected_waits_when_the_password_changes() {
    let server = Server::start();
    let (admin, link) = (server.link(), server.link());
    run(&link, "PING").await;
    run(&admin, "CONFIG SET requirepass secret").await;
    let mut states = link.watch();
    run(&admin, "CLIENT KILL TYPE normal SKIPME yes").await;
    let refused =
        |state: &LinkState| matches!(state, LinkState::Connecting { error: Some(text), .. } if text.contains("NOAUTH"));
    states.wait_for(refused).await.unwrap();
    let call = tokio::spawn({
        let link = link.clone();
        async move { link.call(redis::cmd("INCR").arg("count").clone(), Retry::Never).await }
    });
    states.wait_for(refused).await.unwrap();
    let mut open = redis::cmd("CONFIG");
    open.arg("SET").arg("requirepass").arg("");
    admin.call(open, Retry::Safe).await.unwrap();
    assert_eq!(call.await.unwrap(), Ok(Value::Int(1)));
}

/// A request of this kind that the network holds up, and whether the server got it twice.
async fn a_late_request(user: &str, retry: Retry) -> (Result<Value>, String) {
    let server = Server::start();
    let observer = server.link();
    run(&observer, "ACL SETUSER may on >secret ~* &* +@all").await;
    // Redis 6.2 cannot take away one subcommand.
    run(&observer, "ACL SETUSER may-not on >secret ~* &* +@all -client +client|id +client|setname +client|info").await;
    let proxy = Proxy::to(server.port()).await;
    let options = LinkOptions { silence: Duration::from_millis(50), ..timeout(30_000) };
    let link = Link::open(endpoint(&format!("redis://{user}:secret@127.0.0.1:{}/0", proxy.port)), options);
    run(&link, "SET state before").await;
    proxy.hold_requests(true);
    let mut set = redis::cmd("SET");
    set.arg("state").arg("first");
    let reply = link.call(set, retry).await;
    run(&link, "SET state second").await;
    proxy.hold_requests(false);
    until("the server has what was on its way, or has closed its connection", || async {
        let clients = text(&observer, "CLIENT LIST").await;
        clients.lines().filter(|line| line.contains(&format!("user={user}"))).count() == 1
    })
    .await;
    (reply, text(&observer, "GET state").await)
}

#[tokio::test]
async fn a_request_whose_call_has_ended_without_a_reply_undoes_nothing_that_came_after_it() {
    for retry in [Retry::Never, Retry::InOrder] {
        let server = Server::start();
        let observer = server.link();
        let proxy = Proxy::to(server.port()).await;
        let options = LinkOptions { silence: Duration::from_millis(200), ..timeout(30_000) };
        let link = through(&proxy, options);
        run(&link, "SET state before").await;
        let mut states = link.watch();
        proxy.hold_requests(true);
        let mut set = redis::cmd("SET");
        set.arg("state").arg("first");
        let late = link.with_call_timeout(Some(Duration::from_millis(50))).call(set, retry).await;
        assert!(matches!(late, Err(Error::OutcomeUnknown(_))), "{late:?}");
        states.wait_for(|state| matches!(state, LinkState::Connected { generation: 2.., .. })).await.unwrap();
        run(&link, "SET state second").await;
        proxy.hold_requests(false);
        until("the server has closed the old connection", || async {
            text(&observer, "CLIENT LIST").await.lines().count() == 2
        })
        .await;
        assert_eq!(text(&observer, "GET state").await, "second", "{retry:?}");
    }
}

#[tokio::test]
async fn a_request_that_the_network_delivers_late_undoes_nothing_that_came_after_its_call() {
    let (reply, state) = a_late_request("may", Retry::InOrder).await;
    assert_eq!((reply, state.as_str()), (Ok(Value::Okay), "second"));
    let (reply, _) = a_late_request("may-not", Retry::InOrder).await;
    let Err(Error::OutcomeUnknown(text)) = reply else { panic!("{reply:?}") };
    assert!(text.contains("NOPERM") && text.contains("executed later"), "{text}");
    for (user, state) in [("may", "second"), ("may-not", "first")] {
        let (reply, late) = a_late_request(user, Retry::Safe).await;
        assert_eq!((reply, late.as_str()), (Ok(Value::Okay), state), "{user}");
    }
}

/// Adds one job with the id `mine`, waits until it is stored, and lets `then` happen before its reply comes.
async fn add_whose_reply_is_held<T: Future<Output = ()>>(
    link: &Link,
    observer: &Link,
    proxy: &Proxy,
    options: QueueOptions,
    then: impl FnOnce() -> T,
) -> Result<AddedJobs> {
    let keys = Keys::new("bull", "q").unwrap();
    let queue = QueueHandle::new(link.clone(), link.clone(), keys, options);
    let mut batch = JobBatch::new();
    batch.push(job("{}"));
    queue.add_jobs(&batch).await.unwrap(); // the script is loaded
    proxy.hold_replies(true);
    let mut batch = JobBatch::new();
    batch.push(NewJob { id: Some("mine"), ..job("{}") });
    let happen = async {
        until("the job is stored", || async { number(observer, "EXISTS bull:q:mine").await == 1 }).await;
        until("its reply is on its way", || async { proxy.held() > 0 }).await;
        then().await;
        proxy.hold_replies(false);
    };
    tokio::join!(queue.add_jobs(&batch), happen).0
}

#[tokio::test]
async fn an_add_that_was_executed_is_in_doubt_although_redis_refuses_the_second_try() {
    for notify in [false, true] {
        let server = Server::start();
        let observer = server.link();
        let proxy = Proxy::to(server.port()).await;
        let link = through(&proxy, timeout(30_000));
        let options = QueueOptions { wake: Wake { notify, ..Wake::default() }, ..QueueOptions::default() };
        let added = add_whose_reply_is_held(&link, &observer, &proxy, options, || async {
            run(&observer, "CONFIG SET maxmemory 1").await;
            proxy.cut();
        });
        let added = added.await;
        let Err(Error::OutcomeUnknown(text)) = added else { panic!("notify: {notify}, {added:?}") };
        assert!(text.contains("OOM") && text.contains("first try"), "{text}");
    }
}

#[tokio::test]
async fn an_add_that_was_executed_is_in_doubt_although_no_connection_comes_for_the_second_try() {
    for disorder in [None, Some(Disorder::Foreign)] {
        let mut server = Server::start();
        let observer = server.link();
        let proxy = Proxy::to(server.port()).await;
        // So long that a slow machine does not give up the held reply: the reply of a second try would get through.
        let link = through(&proxy, timeout(3_000));
        let added = add_whose_reply_is_held(&link, &observer, &proxy, QueueOptions::default(), || async {
            proxy.refuse();
            match disorder {
                Some(disorder) => proxy.disturb(0, disorder),
                None => proxy.cut(),
            }
            server.kill();
        });
        let added = added.await;
        assert!(matches!(added, Err(Error::OutcomeUnknown(_))), "{disorder:?}: {added:?}");
        assert!(disorder.is_none() || proxy.has_disturbed());
    }
}

#[tokio::test]
async fn reads_of_one_pipeline_are_of_one_time_although_the_server_refuses_one_of_them_for_now() {
    let (asked, busy) = (Arc::new(AtomicUsize::new(0)), "-BUSY Redis is busy running a script\r\n".to_owned());
    let count = asked.clone();
    let (port, _) = Fake::start(move |_, words| match words[0].as_str() {
        "GET" if words[1] == "state" && count.fetch_add(1, Ordering::SeqCst) == 0 => busy.clone(),
        "GET" if count.load(Ordering::SeqCst) < 2 => bulk("before"),
        "GET" => bulk("after"),
        _ => greeted(words).unwrap_or_else(|| "+OK\r\n".into()),
    })
    .await;
    let link = Link::open(endpoint(&format!("redis://127.0.0.1:{port}/0")), timeout(20_000));
    let reads = ["state", "result"].map(|key| redis::cmd("GET").arg(key).clone());
    let found = link.pipeline(&reads, Retry::Look).await.unwrap();
    let found: Vec<String> = found.into_iter().map(|value| reply::text(value.unwrap()).unwrap()).collect();
    assert_eq!(found, ["after", "after"]);
}
