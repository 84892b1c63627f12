//! Half-open connections, and steps of a worker that do not end: the link connects anew if the fault is in its
//! connection.

use std::sync::Arc;
use std::time::Duration;

use bullrush::connection::{BlockingLink, Link, LinkOptions, LinkState, Retry};
use bullrush::error::Error;
use bullrush::heartbeat::{Heartbeat, Heartbeats, WorkerLoop};
use bullrush::protocol::Keys;
use bullrush::timers::proof_of_life::ProofOfLife;
use bullrush::worker::fetch::{MarkerWaiter, Watch};
use bullrush::worker::lanes::Lane;
use redis::io::tcp::socket2::SockRef;
use redis::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::proxy::Proxy;
use crate::server::{endpoint, run, text, timeout, until, Server};

const NEVER: Duration = Duration::from_secs(3600);

fn through(proxy: &Proxy, silence: Duration) -> Link {
    let options = LinkOptions { silence, ..timeout(20_000) };
    Link::open(endpoint(&format!("redis://127.0.0.1:{}", proxy.port)), options)
}

fn incr() -> redis::Cmd {
    let mut incr = redis::cmd("INCR");
    incr.arg("count");
    incr
}

/// Watches heartbeats of which only the fetch may be overdue, and it is; returns what is revived.
fn watch(link: &Link) -> (Arc<Heartbeats>, mpsc::UnboundedReceiver<WorkerLoop>) {
    let heartbeats = Arc::new(Heartbeats::new([NEVER, Duration::ZERO, NEVER]));
    WorkerLoop::ALL.iter().for_each(|duty| heartbeats.of(*duty).begin());
    let (sender, revived) = mpsc::unbounded_channel();
    let watched = ProofOfLife { link: link.clone(), heartbeats: heartbeats.clone() };
    tokio::spawn(watched.run(move |duty| sender.send(duty).unwrap_or_default()));
    (heartbeats, revived)
}

#[tokio::test]
async fn a_call_on_a_half_open_connection_is_given_up_as_soon_as_the_server_answers_on_another_one() {
    let server = Server::start();
    let proxy = Proxy::to(server.port()).await;
    let link = through(&proxy, Duration::from_millis(50));
    run(&link, "PING").await;
    proxy.half_open();
    let reply = link.call(incr(), Retry::Never).await;
    assert!(matches!(reply, Err(Error::OutcomeUnknown(_))), "{reply:?}");
    assert_eq!(link.call(incr(), Retry::Safe).await, Ok(Value::Int(1)), "and it was not executed");
}

#[tokio::test]
async fn the_reply_of_a_server_that_had_only_stopped_arrives() {
    let server = Server::start();
    let options = LinkOptions { silence: Duration::from_millis(100), ..timeout(20_000) };
    let (admin, link) = (server.link(), Link::open(server.endpoint(), options));
    run(&link, "PING").await;
    run(&admin, "CLIENT PAUSE 60000 WRITE").await;
    let mut states = link.watch();
    let call = tokio::spawn({
        let link = link.clone();
        async move { link.call(incr(), Retry::Never).await }
    });
    let is_again = |state: &_| matches!(state, LinkState::Connected { generation: 2.., .. });
    states.wait_for(is_again).await.unwrap();
    run(&admin, "CLIENT UNPAUSE").await;
    assert_eq!(call.await.unwrap(), Ok(Value::Int(1)));
}

#[tokio::test]
async fn a_step_that_does_not_come_round_renews_the_link() {
    let server = Server::start();
    let proxy = Proxy::to(server.port()).await;
    let link = through(&proxy, NEVER);
    run(&link, "PING").await;
    proxy.half_open();
    let (heartbeats, mut revived) = watch(&link);
    assert_eq!(revived.recv().await, Some(WorkerLoop::Fetch));
    assert!(heartbeats.of(WorkerLoop::Fetch).revived() == 1 && heartbeats.of(WorkerLoop::Fetch).is_deaf());
    run(&link, "PING").await;
    heartbeats.of(WorkerLoop::Fetch).end();
    assert!(!heartbeats.of(WorkerLoop::Fetch).is_deaf());
}

#[tokio::test]
async fn a_step_that_waits_on_a_sound_connection_renews_nothing() {
    let server = Server::start();
    let proxy = Proxy::to(server.port()).await;
    let link = through(&proxy, NEVER);
    run(&link, "PING").await;
    let (heartbeats, mut revived) = watch(&link);
    // Two looks later: each asks on the link, which answers.
    let asked = || async {
        let stats = text(&link, "INFO commandstats").await;
        stats.lines().any(|line| line.starts_with("cmdstat_evalsha:calls=") && !line.contains("calls=1,"))
    };
    until("it has looked twice", asked).await;
    assert!(revived.try_recv().is_err());
    assert_eq!((heartbeats.of(WorkerLoop::Fetch).revived(), proxy.accepted()), (0, 1));
}

#[tokio::test]
async fn a_wait_that_is_begun_anew_is_on_another_connection_and_gets_the_next_marker() {
    let server = Server::start();
    let (observer, proxy) = (server.link(), Proxy::to(server.port()).await);
    let blocking = BlockingLink::new(endpoint(&format!("redis://127.0.0.1:{}", proxy.port)), None);
    let lane = Arc::new(Lane::single(Keys::new("bull", "q").unwrap()));
    let watch = || Watch { lanes: vec![lane.clone()], timeout: NEVER };
    let heartbeat = Arc::new(Heartbeat::default());
    let mut waiter = MarkerWaiter::new(blocking, heartbeat.clone());
    let waits = || async { text(&observer, "INFO clients").await.contains("blocked_clients:1\r") };
    waiter.start_waiting(watch());
    until("it waits", waits).await;
    proxy.half_open();
    waiter.restart();
    waiter.start_waiting(watch());
    until("it waits on another connection", || async { proxy.accepted() == 2 && waits().await }).await;
    assert!(heartbeat.is_overdue(Duration::ZERO));
    run(&observer, "ZADD bull:q:marker 0 0").await;
    assert_eq!(waiter.popped().await.unwrap().map(|marker| marker.member), Some("0".to_owned()));
    assert!(!heartbeat.is_overdue(Duration::ZERO), "it came heartbeat");
}

/// A line to the server on which uploads are slow: 800 kB/s.
async fn slow_line(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    SockRef::from(&listener).set_recv_buffer_size(16 << 10).unwrap();
    let own = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = TcpStream::connect(("127.0.0.1", port)).await.unwrap().into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
            tokio::spawn(async move {
                let mut piece = vec![0; 8 << 10];
                while let Ok(count @ 1..) = from_client.read(&mut piece).await {
                    if to_server.write_all(&piece[..count]).await.is_err() {
                        return;
                    }
                    if count == piece.len() {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                }
            });
        }
    });
    own
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_upload_that_goes_on_is_no_silence_however_long_it_takes() {
    let server = Server::start();
    let port = slow_line(server.port()).await;
    let options = LinkOptions { silence: Duration::from_millis(100), ..timeout(20_000) };
    let link = Link::open(endpoint(&format!("redis://127.0.0.1:{port}")), options);
    run(&link, "PING").await;
    let mut set = redis::cmd("SET");
    set.arg("k").arg(vec![b'x'; 1_500_000]);
    assert_eq!(link.call(&set, Retry::Never).await, Ok(Value::Okay));
    assert!(matches!(*link.watch().borrow(), LinkState::Connected { generation: 1, .. }), "on the first connection");
}
