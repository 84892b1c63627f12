//! Subscriptions: who gets which message, one connection for all, and what happens when it is lost.

use std::sync::Arc;
use std::time::Duration;

use bullrush::connection::{First, Inbox, Link, Listening, Notice, Pool, Subscriber};
use bullrush::error::Error;

use crate::proxy::Proxy;
use crate::server::{endpoint, number, run, text, until, Server};

const SOON: Duration = Duration::from_secs(10);
const CHANNEL: &str = "bull:ext:sched";

fn message(listening: &Listening, text: &str) -> (u64, Notice) {
    (listening.number(), Notice::Message(text.into()))
}

fn missed(listening: &Listening) -> (u64, Notice) {
    (listening.number(), Notice::Missed)
}

async fn next(inbox: &Inbox) -> Vec<(u64, Notice)> {
    tokio::time::timeout(SOON, inbox.next()).await.expect("a notice in time")
}

async fn listen(subscriber: &Subscriber, key: &str, inbox: &Arc<Inbox>) -> Listening {
    let listening = subscriber.listen(CHANNEL, key, inbox, First::Quiet);
    listening.confirmed(SOON).await.unwrap();
    listening
}

async fn subscribers(link: &Link) -> usize {
    text(link, "CLIENT LIST TYPE pubsub").await.lines().filter(|line| !line.is_empty()).count()
}

#[tokio::test]
async fn a_message_reaches_those_who_listen_to_it_and_to_its_beginning() {
    let server = Server::start();
    let (pool, link, inbox) = (Pool::new(), server.link(), Inbox::new());
    let subscriber = pool.subscriber(&server.endpoint());
    let exact = listen(&subscriber, "video:7", &inbox).await;
    let other = listen(&subscriber, "video:8", &inbox).await;
    let queue = listen(&subscriber, "video:", &inbox).await;
    run(&link, "PUBLISH bull:ext:sched video:7").await;
    assert_eq!(next(&inbox).await, [message(&exact, "video:7"), message(&queue, "video:7")]);
    run(&link, "PUBLISH bull:ext:sched video:8:9").await;
    assert_eq!(next(&inbox).await, [message(&queue, "video:8:9")]);
    run(&link, "PUBLISH bull:ext:sched videos").await;
    run(&link, "PUBLISH bull:ext:sched video:").await;
    assert_eq!(next(&inbox).await, [message(&queue, "video:")]);
    drop(queue);
    run(&link, "PUBLISH bull:ext:sched video:8").await;
    assert_eq!(next(&inbox).await, [message(&other, "video:8")]);
}

#[tokio::test]
async fn all_listeners_of_a_process_share_one_connection_that_closes_after_the_last_one() {
    let server = Server::start();
    let (pool, link, inbox) = (Pool::new(), server.link(), Inbox::new());
    let mut listeners = Vec::new();
    for channel in ["bull:ext:sched", "bull:ext:owls", "other:ext:sched"] {
        let subscriber = pool.subscriber(&server.endpoint());
        listeners.extend(["a", "b"].map(|key| subscriber.listen(channel, key, &inbox, First::Quiet)));
    }
    for listening in &listeners {
        listening.confirmed(SOON).await.unwrap();
    }
    assert_eq!(subscribers(&link).await, 1);
    assert_eq!(number(&link, "PUBLISH other:ext:sched b").await, 1);
    assert_eq!(next(&inbox).await, [message(&listeners[5], "b")]);
    listeners.truncate(3);
    until("a channel without listeners is left", || async { number(&link, "PUBLISH other:ext:sched b").await == 0 })
        .await;
    assert_eq!(number(&link, "PUBLISH bull:ext:owls x").await, 1);
    listeners.clear();
    until("the connection is closed", || async { subscribers(&link).await == 0 }).await;
    let again = listen(&pool.subscriber(&server.endpoint()), "a", &inbox).await;
    run(&link, "PUBLISH bull:ext:sched a").await;
    assert_eq!(next(&inbox).await, [message(&again, "a")]);
}

#[tokio::test]
async fn after_a_reconnect_every_listener_learns_that_it_may_have_missed_a_message() {
    let server = Server::start();
    let proxy = Proxy::to(server.port()).await;
    let (pool, link, inbox) = (Pool::new(), server.link(), Inbox::new());
    let subscriber = pool.subscriber(&endpoint(&format!("redis://127.0.0.1:{}/0", proxy.port)));
    let one = listen(&subscriber, "one", &inbox).await;
    let two = listen(&subscriber, "two", &inbox).await;
    proxy.cut();
    assert_eq!(next(&inbox).await, [missed(&one), missed(&two)]);
    run(&link, "PUBLISH bull:ext:sched two").await;
    assert_eq!(next(&inbox).await, [message(&two, "two")]);
    run(&link, "CLIENT KILL TYPE pubsub").await;
    assert_eq!(next(&inbox).await, [missed(&one), missed(&two)]);
}

#[tokio::test]
async fn a_listener_that_does_not_wait_for_the_confirmation_learns_of_it() {
    let mut server = Server::reserve(&[]);
    let (pool, inbox) = (Pool::new(), Inbox::new());
    let subscriber = pool.subscriber(&server.endpoint());
    let listening = subscriber.listen(CHANNEL, "a", &inbox, First::Notice);
    let refused = listening.confirmed(Duration::from_millis(300)).await.unwrap_err();
    let Error::ConnectionLost(text) = &refused else { panic!("{refused:?}") };
    assert!(text.contains(&server.port().to_string()) && text.contains("refused"), "{text}");
    server.run();
    assert_eq!(next(&inbox).await, [missed(&listening)]);
    let late = subscriber.listen(CHANNEL, "b", &inbox, First::Notice);
    late.confirmed(Duration::ZERO).await.unwrap();
    run(&server.link(), "PUBLISH bull:ext:sched b").await;
    assert_eq!(next(&inbox).await, [message(&late, "b")]);
}

#[tokio::test]
async fn a_channel_that_the_server_refuses_is_tried_again_and_harms_no_other() {
    let server = Server::start();
    let (pool, link, inbox) = (Pool::new(), server.link(), Inbox::new());
    run(&link, "ACL SETUSER me on >s3cret ~* +@all resetchannels &bull:ext:owls").await;
    let subscriber = pool.subscriber(&endpoint(&format!("redis://me:s3cret@127.0.0.1:{}/0", server.port())));
    let refused = subscriber.listen(CHANNEL, "a", &inbox, First::Quiet);
    let allowed = subscriber.listen("bull:ext:owls", "a", &inbox, First::Quiet);
    let error = refused.confirmed(SOON).await.unwrap_err();
    assert!(matches!(&error, Error::Server { code, .. } if code == "NOPERM"), "{error:?}");
    assert!(!error.to_string().contains("s3cret"));
    allowed.confirmed(SOON).await.unwrap();
    run(&link, "PUBLISH bull:ext:owls a").await;
    assert_eq!(next(&inbox).await, [message(&allowed, "a")]);
    run(&link, "ACL SETUSER me &*").await;
    // Somebody new may try at once.
    let new = listen(&subscriber, "b", &inbox).await;
    run(&link, "PUBLISH bull:ext:sched b").await;
    assert_eq!(next(&inbox).await, [message(&new, "b")]);
}

#[tokio::test]
async fn a_server_without_room_for_a_connection_is_asked_again() {
    let server = Server::start();
    let (pool, link, inbox) = (Pool::new(), server.link(), Inbox::new());
    run(&link, "CONFIG SET maxclients 1").await;
    let subscriber = pool.subscriber(&server.endpoint());
    let listening = subscriber.listen(CHANNEL, "a", &inbox, First::Notice);
    let error = listening.confirmed(Duration::from_millis(300)).await.unwrap_err();
    assert!(matches!(&error, Error::ConnectionLost(_)), "{error:?}");
    run(&link, "CONFIG SET maxclients 100").await;
    assert_eq!(next(&inbox).await, [missed(&listening)]);
}
