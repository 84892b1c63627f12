//! A private Redis server per test: no test sees another one's keys, clients or faults.

use std::future::Future;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use bullrush::connection::{Endpoint, Link, LinkOptions, Retry};
use redis::Value;

static COUNT: AtomicUsize = AtomicUsize::new(0);

pub struct Server {
    process: Option<Child>,
    port: u16,
    folder: PathBuf,
    arguments: Vec<String>,
}

impl Server {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    pub fn start_with(arguments: &[&str]) -> Self {
        let mut server = Self::reserve(arguments);
        server.run();
        server
    }

    /// Chooses a port but starts nothing yet.
    pub fn reserve(arguments: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("bullrush-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Server { process: None, port, folder, arguments }
    }

    pub fn run(&mut self) {
        let process = Command::new("redis-server")
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--dir", self.folder.to_str().unwrap(), "--unixsocket", self.socket().to_str().unwrap()])
            .args(&self.arguments)
            .stdout(Stdio::null())
            .spawn()
            .expect("the tests need redis-server on PATH");
        self.process = Some(process);
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.process.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "redis-server ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    pub fn endpoint(&self) -> Arc<Endpoint> {
        endpoint(&format!("redis://127.0.0.1:{}/0", self.port))
    }

    pub fn link(&self) -> Link {
        Link::open(self.endpoint(), timeout(10_000))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub fn endpoint(url: &str) -> Arc<Endpoint> {
    Arc::new(Endpoint::parse(url).unwrap())
}

/// Options whose calls wait at most that long for a connection.
pub fn timeout(milliseconds: u64) -> LinkOptions {
    LinkOptions { connect_timeout: Some(Duration::from_millis(milliseconds)), ..LinkOptions::default() }
}

/// Runs a command given as one line.
pub async fn run(link: &Link, line: &str) -> Value {
    let mut words = line.split(' ');
    let mut cmd = redis::cmd(words.next().unwrap());
    for word in words {
        cmd.arg(word);
    }
    link.call(cmd, Retry::Safe).await.unwrap()
}

pub async fn text(link: &Link, line: &str) -> String {
    bullrush::protocol::reply::text(run(link, line).await).unwrap()
}

pub async fn number(link: &Link, line: &str) -> i64 {
    bullrush::protocol::reply::integer(run(link, line).await).unwrap()
}

/// Polls until the condition holds.
pub async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let wait = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), wait).await.is_ok(), "never came true: {what}");
}
