//! What comes from Sentinels and to subscribers is short. A longer message ends the connection.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bullrush::connection::{First, Inbox, Link, Notice, Pool};
use bullrush::error::Error;

use crate::fake::{bulk, confirmed, Fake};
use crate::server::{endpoint, text, timeout, until, Server};

/// The text of a message that never comes.
const ANNOUNCED: &str = "$2000000000\r\n";
const SAID: &str = "a message on it had more than 1 MB";

fn message(channel: &str, text: &str) -> String {
    format!("*3\r\n{}{}{text}", bulk("message"), bulk(channel))
}

#[tokio::test]
async fn a_message_to_a_subscriber_that_is_announced_with_2_gb_ends_the_connection_at_once() {
    let (port, fake) = Fake::start(|number, words| match words[0].as_str() {
        // The second connection stays silent, so that the reason can be read.
        "SUBSCRIBE" if number == 0 => confirmed(words) + &message(&words[1], ANNOUNCED),
        "SUBSCRIBE" => String::new(),
        _ => "+OK\r\n".into(),
    })
    .await;
    let (pool, inbox) = (Pool::new(), Inbox::new());
    let listening =
        pool.subscriber(&endpoint(&format!("redis://127.0.0.1:{port}/0"))).listen("news", "a", &inbox, First::Quiet);
    until("it connects anew", || async { fake.made() == 2 }).await;
    until("the old connection is closed", || async { fake.ended.load(Ordering::SeqCst) == 1 }).await;
    let error = listening.confirmed(Duration::from_millis(100)).await.unwrap_err();
    assert!(matches!(&error, Error::ConnectionLost(text) if text.contains(SAID)), "{error:?}");
}

#[tokio::test]
async fn many_short_messages_at_once_are_no_long_one() {
    let (port, fake) = Fake::start(|_, words| match words[0].as_str() {
        "SUBSCRIBE" => {
            let short = message(&words[1], &bulk(&"x".repeat(100)));
            confirmed(words) + &short.repeat(30_000) + &message(&words[1], &bulk("the last one"))
        }
        _ => "+OK\r\n".into(),
    })
    .await;
    let (pool, inbox) = (Pool::new(), Inbox::new());
    let subscriber = pool.subscriber(&endpoint(&format!("redis://127.0.0.1:{port}/0")));
    let _listening = subscriber.listen("news", "the last one", &inbox, First::Quiet);
    let notices = tokio::time::timeout(Duration::from_secs(20), inbox.next()).await.unwrap();
    assert!(matches!(&notices[..], [(_, Notice::Message(text))] if &**text == "the last one"), "{notices:?}");
    assert_eq!(fake.made(), 1);
}

#[tokio::test]
async fn an_answer_of_a_sentinel_that_is_announced_with_2_gb_is_refused_and_the_error_says_so() {
    let (port, _) = Fake::start(|_, words| match words[0].as_str() {
        "SENTINEL" => format!("*2\r\n{ANNOUNCED}"),
        "SUBSCRIBE" | "PSUBSCRIBE" => confirmed(words),
        _ => "+OK\r\n".into(),
    })
    .await;
    let link = Link::open(endpoint(&format!("redis+sentinel://127.0.0.1:{port}/main")), timeout(1_500));
    let error = link.ready().await.unwrap_err();
    assert!(matches!(&error, Error::ConnectionLost(text) if text.contains(SAID)), "{error:?}");
}

#[tokio::test]
async fn a_sentinel_that_publishes_a_message_without_end_is_left_and_the_master_is_used_on() {
    let server = Server::start();
    let master = server.port().to_string();
    let (port, fake) = Fake::start(move |_, words| match words[0].as_str() {
        "SENTINEL" => format!("*2\r\n{}{}", bulk("127.0.0.1"), bulk(&master)),
        "SUBSCRIBE" if words[1] == "+switch-master" => {
            confirmed(words) + &message(&words[1], ANNOUNCED) + &"m".repeat(100 << 20)
        }
        "SUBSCRIBE" | "PSUBSCRIBE" => confirmed(words),
        _ => "+OK\r\n".into(),
    })
    .await;
    let link = Link::open(endpoint(&format!("redis+sentinel://127.0.0.1:{port}/main")), timeout(20_000));
    until("it leaves the Sentinel, again and again", || async {
        text(&link, "PING").await == "PONG" && fake.cut.load(Ordering::SeqCst) >= 2
    })
    .await;
    assert_eq!(link.generation(), Some(1));
}
