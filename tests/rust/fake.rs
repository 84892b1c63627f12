//! A server that says what a test wants: a Sentinel, or something that is no Redis.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use redis::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::proxy::reply_length;

/// A server that says what a test wants, and counts its connections.
#[derive(Default)]
pub struct Fake {
    made: AtomicUsize,
    pub ended: AtomicUsize,
    /// Connections that the other side has closed while an answer was on its way.
    pub cut: AtomicUsize,
}

impl Fake {
    /// `answer` gets the number of the connection and the words of a command.
    pub async fn start(answer: impl Fn(usize, &[String]) -> String + Send + Sync + 'static) -> (u16, Arc<Fake>) {
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

    pub fn made(&self) -> usize {
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

pub fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// What a server says of a subscription.
pub fn confirmed(words: &[String]) -> String {
    let kind = words[0].to_lowercase();
    words[1..].iter().map(|channel| format!("*3\r\n{}{}:1\r\n", bulk(&kind), bulk(channel))).collect()
}

/// What a data server says to a new connection and to proofs; `None` for other commands.
pub fn greeted(words: &[String]) -> Option<String> {
    Some(match words[0].as_str() {
        "INFO" => bulk("redis_version:7.0.15\r\nrun_id:x\r\ncluster_enabled:0\r\nrole:master\r\n"),
        "ECHO" => bulk(&words[1]),
        "CLIENT" | "SELECT" => "+OK\r\n".into(),
        _ => return None,
    })
}
