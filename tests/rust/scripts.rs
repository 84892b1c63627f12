//! The typed script calls, end to end through the real scripts.
use bullrush::connection::{Link, Retry};
use bullrush::error::Error;
use bullrush::protocol::{JobBatch, Keep, Keys, NewJob};
use bullrush::scripts::add::{add_scheduler_iteration, NextIteration};
use bullrush::scripts::fetch::{active_ids, move_to_active, recover_active, start_jobs, FetchPlan, Started};
use bullrush::scripts::finish::{
    self, move_to_finished, Failure, Finished, FinishedBy, GivenBack, JobError, JobResult,
};
use bullrush::scripts::lock::{extend_locks, move_stalled_jobs_to_wait, release_lock, StalledPlan};
use bullrush::scripts::{inspect, manage, ALL};

use crate::queue::{job, queue};
use crate::server::{run, text, Server};

fn keys() -> Keys {
    Keys::new("bull", "q").unwrap()
}

pub const PLAN: FetchPlan<'static> = FetchPlan {
    count: 10,
    slots: 10,
    stalled_limit: None,
    alone: false,
    token: "t:1",
    lock_duration: 30_000,
    limiter: None,
    shared_limit: None,
    worker_name: Some("w"),
    fan_out: false,
};

async fn filled(link: &Link, count: usize) {
    let mut batch = JobBatch::new();
    for _ in 0..count {
        batch.push(job(r#"{"a":1}"#));
    }
    queue(link).add_jobs(&batch).await.unwrap();
}

fn finished<'a>(id: &'a str, outcome: &'a JobResult) -> Finished<'a> {
    Finished { id, token: "t:1", keep: Keep::ALL, start: None, plain_fields: None, outcome }
}

#[tokio::test]
async fn every_script_compiles_under_the_hash_computed_at_build_time() {
    let server = Server::start();
    let link = server.link();
    assert!(ALL.len() > 20);
    for script in ALL {
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(script.source());
        let sha = link.call(load, Retry::Safe).await.unwrap_or_else(|error| panic!("{}: {error}", script.name));
        assert_eq!(bullrush::protocol::reply::text(sha).unwrap(), script.sha(), "{}", script.name);
    }
}

#[tokio::test]
async fn jobs_go_from_wait_over_active_to_completed_and_failed() {
    let server = Server::start();
    let (link, keys) = (server.link(), keys());
    filled(&link, 3).await;
    let fetched = move_to_active(&link, &keys, 1_000, &PLAN).await.unwrap();
    let ids: Vec<&str> = fetched.jobs.iter().map(|job| &*job.id).collect();
    assert_eq!(ids, ["1", "2", "3"]);
    let first = &fetched.jobs[0];
    assert_eq!((&*first.name(), first.data(), first.ats(), first.atm()), ("job", &br#"{"a":1}"#[..], 0, 0));
    assert_eq!(text(&link, "HGET bull:q:1 pb").await, "w");
    assert_eq!(text(&link, "HGET bull:q:1 processedOn").await, "1000");

    filled(&link, 1).await;
    let completed = JobResult::Completed { value: b"42".to_vec() };
    let failed = JobResult::Failed { reason: "boom".into(), stack: b"[\"boom\"]".to_vec(), attempts: 0 };
    let foreign = Finished { token: "other", ..finished("2", &completed) };
    let jobs = [finished("1", &completed), foreign, finished("3", &failed), finished("nope", &completed)];
    let reply = move_to_finished(&link, &keys, 2_000, FinishedBy::default(), Some(&PLAN), &jobs).await.unwrap();
    assert_eq!(reply.failures, [(1, JobError::Code(-6)), (3, JobError::Code(-1))]);
    assert_eq!(&*reply.fetched.jobs[0].id, "4");
    let message = "Lock mismatch for job 2. Cmd moveToFinished from active";
    assert_eq!(reply.failures[0].1.error("2"), Error::Code { code: -6, message: message.into() });
    assert_eq!(inspect::get_counts(&link, &keys, &["completed", "failed", "active"]).await.unwrap(), [1, 1, 2]);
    assert_eq!(inspect::get_state(&link, &keys, "3").await.unwrap(), "failed");
    assert_eq!(text(&link, "HGET bull:q:3 failedReason").await, "boom");
}

#[tokio::test]
async fn jobs_of_a_lost_fetch_are_found_by_their_token() {
    let server = Server::start();
    let (link, keys) = (server.link(), keys());
    filled(&link, 3).await;
    move_to_active(&link, &keys, 1, &PLAN).await.unwrap();
    let found = recover_active(&link, &keys, "t:1", ["2"], Retry::Look).await.unwrap();
    let ids: Vec<&str> = found.iter().map(|job| &*job.id).collect();
    assert_eq!(ids, ["1", "3"]);
    assert_eq!(found[0].name(), "job");
    let ids = active_ids(&link, &keys, "t:1").await.unwrap();
    assert_eq!(ids.iter().map(|id| &**id).collect::<Vec<_>>(), ["1", "2", "3"]);
}

#[tokio::test]
async fn an_active_job_goes_back_in_three_ways() {
    let server = Server::start();
    let (link, keys) = (server.link(), keys());
    filled(&link, 4).await;
    move_to_active(&link, &keys, 1, &PLAN).await.unwrap();
    let failure = Some(Failure { reason: "boom", stack: b"[]" });
    let ended = |id, failure| finish::EndedAttempt { id, token: "t:1", failure };
    finish::retry_job(&link, &keys, 2, ended("1", failure), false, false).await.unwrap();
    finish::move_to_delayed(&link, &keys, 2, ended("2", failure), 5_000, false).await.unwrap();
    let given_back = |id, token| GivenBack { id, token, score: None, before: Some([None; 3]) };
    let back = finish::give_back(&link, &keys, &[given_back("3", "t:1"), given_back("4", "wrong")]).await.unwrap();
    assert_eq!(back[0], Ok(()));
    assert_eq!(run(&link, "HEXISTS bull:q:3 ats").await, redis::Value::Int(0));
    assert!(matches!(back[1], Err(Error::Code { code: -6, .. })));
    assert_eq!(finish::move_to_wait(&link, &keys, None, "4", "t:1").await.unwrap(), 0);
    assert_eq!(inspect::get_counts(&link, &keys, &["wait", "delayed", "active"]).await.unwrap(), [3, 1, 0]);
    let error = finish::retry_job(&link, &keys, 2, ended("1", None), false, false).await.unwrap_err();
    assert_eq!(error.to_string(), "Missing lock for job 1. retryJob");
}

#[tokio::test]
async fn a_prefetched_job_gets_its_start_fields_when_it_starts_or_with_its_result() {
    let server = Server::start();
    let (link, keys) = (server.link(), keys());
    filled(&link, 3).await;
    let plan = FetchPlan { slots: 1, ..PLAN };
    move_to_active(&link, &keys, 1, &plan).await.unwrap();
    assert_eq!(text(&link, "HGET bull:q:1 ats").await, "1");
    assert_eq!(run(&link, "HMGET bull:q:2 ats processedOn pb").await, redis::Value::Array(vec![redis::Value::Nil; 3]));
    let start = |id, token| Started { id, token, ats: 1, at: 7 };
    start_jobs(&link, &keys, Some("w"), &[start("2", "t:1"), start("3", "other")]).await.unwrap();
    assert_eq!(text(&link, "HGET bull:q:2 processedOn").await, "7");
    assert_eq!(run(&link, "HEXISTS bull:q:3 ats").await, redis::Value::Int(0));
    let completed = JobResult::Completed { value: b"42".to_vec() };
    let late = Finished { start: Some((1, 9)), ..finished("3", &completed) };
    let by = FinishedBy { worker_name: Some("w"), ..FinishedBy::default() };
    let reply = move_to_finished(&link, &keys, 10, by, None, &[finished("2", &completed), late]).await;
    assert_eq!(reply.unwrap().failures, []);
    for (id, at) in [("2", "7"), ("3", "9")] {
        assert_eq!(text(&link, &format!("HGET bull:q:{id} processedOn")).await, at);
        assert_eq!(text(&link, &format!("HGET bull:q:{id} pb")).await, "w");
    }
}

#[tokio::test]
async fn locks_are_renewed_released_and_missed() {
    let server = Server::start();
    let (link, keys) = (server.link(), keys());
    filled(&link, 3).await;
    move_to_active(&link, &keys, 1, &PLAN).await.unwrap();
    assert!(release_lock(&link, &keys, "1", "t:1").await.unwrap());
    assert!(!release_lock(&link, &keys, "1", "t:1").await.unwrap());
    let lost = extend_locks(&link, &keys, 60_000, [("1", "t:1"), ("2", "t:1"), ("3", "x")]).await.unwrap();
    assert_eq!(lost, ["1", "3"]);
    let plan = StalledPlan { max_stalled_count: 1, stalled_interval: 1, limit: 1_000, fan_out: false };
    move_stalled_jobs_to_wait(&link, &keys, 1, plan, false).await.unwrap();
    run(&link, "DEL bull:q:stalled-check").await;
    let recovered = move_stalled_jobs_to_wait(&link, &keys, 2, plan, false).await.unwrap();
    assert_eq!(recovered, (false, vec!["1".to_owned()]));
}

#[tokio::test]
async fn management_calls_reach_their_scripts() {
    let server = Server::start();
    let (link, keys) = (server.link(), keys());
    filled(&link, 2).await;
    manage::update_data(&link, &keys, "1", b"[1]").await.unwrap();
    manage::update_progress(&link, &keys, "1", b"50", None).await.unwrap();
    assert_eq!(manage::add_log(&link, &keys, "1", "row", Some(1), false).await.unwrap(), 1);
    manage::clear_logs(&link, &keys, "1", None).await.unwrap();
    manage::change_priority(&link, &keys, "1", 5, false).await.unwrap();
    assert_eq!(inspect::get_state(&link, &keys, "1").await.unwrap(), "prioritized");
    manage::pause(&link, &keys).await.unwrap();
    manage::resume(&link, &keys, false).await.unwrap();
    assert_eq!(inspect::get_ranges(&link, &keys, 0, -1, false, &["wait", "prioritized"]).await.unwrap(), ["2", "1"]);
    let error = manage::promote(&link, &keys, "1").await.unwrap_err();
    assert_eq!(error.to_string(), "Job 1 is not in the delayed state. promote");
    let error = manage::update_data(&link, &keys, "nope", b"1").await.unwrap_err();
    assert_eq!(error.to_string(), "Missing key for job nope. updateData");
    let error = manage::obliterate(&link, &keys, 10, false).await.unwrap_err();
    assert_eq!(error.to_string(), "Cannot obliterate non-paused queue");
    assert_eq!(manage::remove(&link, &keys, "1", false, None).await.unwrap(), 1);
    manage::drain(&link, &keys, true, &[]).await.unwrap();
    assert!(inspect::is_drained(&link, &keys, 1, 1_000).await.unwrap());
    manage::pause(&link, &keys).await.unwrap();
    queue(&link).obliterate(100, false).await.unwrap();
}

#[tokio::test]
async fn a_flushed_script_cache_causes_no_error() {
    let server = Server::start();
    let (link, keys) = (server.link(), keys());
    filled(&link, 1).await;
    run(&link, "SCRIPT FLUSH").await;
    assert_eq!(inspect::get_state(&link, &keys, "1").await.unwrap(), "waiting");
    run(&link, "SCRIPT FLUSH").await;
    manage::pause(&link, &keys).await.unwrap();
}

#[tokio::test]
async fn a_fetched_scheduler_job_adds_the_next_one_only_once() {
    let server = Server::start();
    let (link, keys) = (server.link(), keys());
    run(&link, "ZADD bull:q:repeat 1000 nightly").await;
    run(&link, "HSET bull:q:repeat:nightly name report every 500 offset 0 ic 1").await;
    let opts = br#"{"attempts":0,"repeat":{"every":500,"count":1}}"#;
    let mut batch = JobBatch::new();
    batch.push(NewJob { id: Some("repeat:nightly:1000"), opts, ..job("{}") });
    queue(&link).add_jobs(&batch).await.unwrap();
    let taken = move_to_active(&link, &keys, 1_000, &PLAN).await.unwrap().jobs.remove(0);
    let next = NextIteration {
        scheduler_id: "nightly",
        producer_id: &taken.id,
        cron_next: None,
        every: Some(500),
        name: &taken.name(),
        data: taken.data(),
        opts: r#"{"attempts":0,"repeat":{"every":500,"count":2}}"#,
        priority: 0,
        lifo: false,
        deduplication_id: None,
    };
    let produced = add_scheduler_iteration(&link, &keys, 1_000, &next).await.unwrap();
    assert_eq!(produced.as_deref(), Some("repeat:nightly:1500"));
    assert_eq!(add_scheduler_iteration(&link, &keys, 1_000, &next).await.unwrap(), None);
    let job = queue(&link).get_job("repeat:nightly:1500").await.unwrap().unwrap();
    assert_eq!((&*job.name(), job.text("rjk"), job.number("delay")), ("report", Some("nightly"), 500));
}

#[tokio::test]
async fn a_user_who_may_not_load_scripts_gets_an_error() {
    let server = Server::start();
    let link = server.link();
    run(&link, "ACL SETUSER default -script").await;
    let error = inspect::get_state(&link, &keys(), "1").await.unwrap_err();
    assert!(matches!(&error, Error::Server { code, .. } if code == "NOPERM"), "{error:?}");
}
