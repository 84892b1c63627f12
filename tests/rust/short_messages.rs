//! What comes from Sentinels and to subscribers is short. A longer message ends the connection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use bullrush::connection::{First, Inbox, Link, Notice, Pool};
use bullrush::error::Error;
use redis::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::proxy::reply_length;
use crate::server::{endpoint, patient, text, until, Server};

/// The text of a message that never comes.
const ANNOUNCED: &str = "$2000000000\r\n";
const SAID: &str = "a message on it had more than 1 MB";

/// A server that says what a test wants, and counts its connections.
#[derive(Default)]
struct Fake {
    made: AtomicUsize,
    ended: AtomicUsize,
    /// Connections that the other side has closed while an answer was on its way.
    cut: AtomicUsize,
}

impl Fake {
    /// `answer` gets the number of the connection and the words of a command.
    async fn start(answer: impl Fn(usize, &[String]) -> String + Send + Sync + 'static) -> (u16, Arc<Fake>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, fake, answer) = (listener.local_addr().unwrap().port(), Arc::new(Fake::default()), Arc::new(answer));
        let counts = fake.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (number, counts, answer) =
                    (counts.made.fetch_add(1, Ordering::SeqCst), counts.clone(), answer.clone());
                tokio::spawn(async move {
                    if !serve(socket, |words| answer(number, words)).await {
                        counts.cut.fetch_add(1, Ordering::SeqCst);
                    }
                    counts.ended.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        (port, fake)
    }

    fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }
}

/// Answers until the other side has closed the connection; false if an answer was on its way.
async fn serve(mut socket: TcpStream, answer: impl Fn(&[String]) -> String) -> bool {
    let (mut got, mut buffer) = (Vec::new(), vec![0; 4096]);
    while let Ok(count @ 1..) = socket.read(&mut buffer).await {
        got.extend_from_slice(&buffer[..count]);
        while let Some(length) = reply_length(&got) {
            let command: Vec<u8> = got.drain(..length).collect();
            let Ok(Value::Array(words)) = redis::parse_redis_value(&command) else { panic!("{command:?}") };
            let words: Vec<String> = words.into_iter().map(|word| redis::from_redis_value(word).unwrap()).collect();
            if socket.write_all(answer(&words).as_bytes()).await.is_err() {
                return false;
            }
        }
    }
    true
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// What a server says of a subscription.
fn confirmed(words: &[String]) -> String {
    let kind = words[0].to_lowercase();
    words[1..].iter().map(|channel| format!("*3\r\n{}{}:1\r\n", bulk(&kind), bulk(channel))).collect()
}

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
    let link = Link::open(endpoint(&format!("redis+sentinel://127.0.0.1:{port}/main")), patient(1_500));
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
    let link = Link::open(endpoint(&format!("redis+sentinel://127.0.0.1:{port}/main")), patient(20_000));
    until("it leaves the Sentinel, again and again", || async {
        text(&link, "PING").await == "PONG" && fake.cut.load(Ordering::SeqCst) >= 2
    })
    .await;
    assert_eq!(link.generation(), Some(1));
}
