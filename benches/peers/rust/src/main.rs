//! The official Rust crate as a peer. The protocol with the harness is described in benches/harness/peer.py.

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bullmq::worker::CancellationToken;
use bullmq::{BulkJob, Job, Queue, QueueOptions, Worker, WorkerOptions};
use serde_json::{json, Value};

const NAME: &str = "order";
const NOTE: &str = "a small payload of about a hundred";
const CHUNK: usize = 1_000;

type Outcome = Result<Value, Box<dyn std::error::Error>>;

fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().expect("the harness listens");
}

fn hear() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).expect("the harness speaks");
    (read > 0).then(|| line.trim().to_string())
}

fn ready() {
    say("ready");
    assert_eq!(hear().as_deref(), Some("go"));
}

/// Microseconds of a clock that all processes of the machine share.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64() * 1e6
}

fn text<'a>(order: &'a Value, key: &str) -> &'a str {
    order[key].as_str().unwrap_or_default()
}

fn number(order: &Value, key: &str) -> usize {
    order[key].as_u64().unwrap_or_default() as usize
}

fn payloads(order: &Value) -> Vec<Value> {
    let note = format!("{NOTE}{}", "x".repeat(number(order, "payload").saturating_sub(100)));
    let one = |index| {
        let amount = (index % 997) as f64 + 0.5;
        json!({ "order": index, "customer": format!("c-{index:06}"), "amount": amount, "note": note })
    };
    (0..number(order, "jobs")).map(one).collect()
}

async fn open(order: &Value) -> Result<Queue, bullmq::Error> {
    let mut options = QueueOptions::default();
    options.connection.url = text(order, "url").to_string();
    Queue::with_options(text(order, "queue"), options).await
}

async fn add_bulk(order: &Value) -> Outcome {
    let queue = open(order).await?;
    let mut jobs = payloads(order).into_iter().map(|data| BulkJob::new(NAME, data));
    ready();
    loop {
        let chunk: Vec<_> = jobs.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            return Ok(json!({}));
        }
        queue.add_bulk(chunk).await?;
    }
}

async fn add(order: &Value) -> Outcome {
    let queue = open(order).await?;
    let jobs = payloads(order);
    ready();
    for data in jobs {
        queue.add(NAME, data).await?;
    }
    Ok(json!({}))
}

async fn add_concurrent(order: &Value) -> Outcome {
    let queue = open(order).await?;
    let jobs = Arc::new(Mutex::new(payloads(order).into_iter()));
    ready();
    let adders: Vec<_> = (0..number(order, "inflight"))
        .map(|_| {
            let (queue, jobs) = (queue.clone(), jobs.clone());
            tokio::spawn(async move {
                loop {
                    let next = jobs.lock().expect("no adder panics").next();
                    let Some(data) = next else { return };
                    queue.add(NAME, data).await.expect("the job is added");
                }
            })
        })
        .collect();
    for adder in adders {
        adder.await?;
    }
    Ok(json!({}))
}

async fn add_paced(order: &Value) -> Outcome {
    let queue = open(order).await?;
    ready();
    let began = Instant::now();
    for index in 0..number(order, "jobs") {
        let due = Duration::from_secs_f64(index as f64 / order["rate"].as_f64().unwrap_or(1.0));
        tokio::time::sleep(due.saturating_sub(began.elapsed())).await;
        queue.add(NAME, json!({ "sent": now() })).await?;
    }
    Ok(json!({}))
}

async fn process(order: &Value) -> Outcome {
    let handled = Arc::new(AtomicU64::new(0));
    let latencies = Arc::new(Mutex::new(Vec::new()));
    let mut options =
        WorkerOptions { concurrency: number(&order["worker"], "concurrency"), autorun: false, ..Default::default() };
    options.connection.url = text(order, "url").to_string();
    let (count, found) = (handled.clone(), latencies.clone());
    let (records, pause) = (text(order, "act") == "record", Duration::from_millis(number(order, "sleep") as u64));
    let handle = move |job: Job, _token: CancellationToken| {
        let (count, found) = (count.clone(), found.clone());
        async move {
            if records {
                found.lock().expect("no handler panics").push(now() - job.data()["sent"].as_f64().unwrap_or_default());
            }
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Value::Null)
        }
    };
    let worker = Worker::with_options(text(order, "queue"), handle, options).await?;
    ready();
    worker.run().await?;
    tokio::task::spawn_blocking(|| assert_eq!(hear().as_deref(), Some("stop"))).await?;
    worker.close(5_000).await?;
    let found = latencies.lock().expect("no handler panics").clone();
    Ok(json!({ "handled": handled.load(Ordering::Relaxed), "latencies": found }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    say(&json!({ "identity": "bullmq-official 1.4.4 for Rust" }).to_string());
    while let Some(line) = tokio::task::spawn_blocking(hear).await? {
        let order: Value = serde_json::from_str(&line)?;
        let found = match text(&order, "task") {
            "add_bulk" => add_bulk(&order).await?,
            "add" => add(&order).await?,
            "add_concurrent" => add_concurrent(&order).await?,
            "add_paced" => add_paced(&order).await?,
            "process" => process(&order).await?,
            other => return Err(format!("no such task: {other}").into()),
        };
        say(&format!("done {found}"));
    }
    Ok(())
}
