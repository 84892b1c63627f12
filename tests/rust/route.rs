//! Targets, profiles and the names of routes.

use std::time::{Duration, Instant};

use bullrush::error::Error;
use bullrush::protocol::route::{queue_of, split_name, Fallback, Mode, NewFallback, Profile, RouteEntry, Target};
use bullrush::protocol::{JobBatch, Keys, Tier};
use bullrush::queue::{QueueHandle, QueueOptions, Registration};

use crate::queue::job;
use crate::server::{number, run, text, until, Server};

fn tokens(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A target of capabilities, stack and region.
fn target(capabilities: &str, stack: &str, region: &str, mode: Mode) -> Target {
    Target::new(None, tokens(stack), tokens(capabilities), tokens(region), mode).unwrap()
}

fn server(name: &str) -> Target {
    Target::new(Some(name.into()), tokens("python"), tokens("gpu"), vec![], Mode::Any).unwrap()
}

fn profile(server: &str, capabilities: &str, stack: &str, region: &str) -> Profile {
    Profile::new(Some(server.into()), tokens(stack), tokens(capabilities), tokens(region)).unwrap()
}

#[test]
fn a_target_has_one_form_and_one_name() {
    let rows = [
        (target("gpu", "", "", Mode::All), r#"{"capabilities":["gpu"]}"#, "cap.gpu"),
        (target("gpu", "", "", Mode::Each), r#"{"capabilities":["gpu"]}"#, "cap.gpu"),
        (target("", "", "us eu us", Mode::Any), r#"{"region":["eu","us"]}"#, "reg.eu+us"),
        (
            target("gpu cuda12", "", "eu", Mode::All),
            r#"{"capabilities":["cuda12","gpu"],"region":["eu"]}"#,
            "cap.cuda12+gpu_reg.eu",
        ),
        (
            target("gpu", "python", "eu", Mode::Any),
            r#"{"capabilities":["gpu"],"mode":"any","region":["eu"],"stack":["python"]}"#,
            "any.cap.gpu_stk.python_reg.eu",
        ),
        (target("a b", "", "", Mode::Each), r#"{"capabilities":["a","b"],"mode":"each"}"#, "each.cap.a+b"),
        (server("exec-17"), r#"{"server":"exec-17"}"#, "srv.exec-17"),
        (target("gpu:*", "", "", Mode::All), r#"{"capabilities":["gpu:*"]}"#, "cap.gpu--.9251e8b439"),
        (target("a_b", "", "", Mode::All), r#"{"capabilities":["a_b"]}"#, "cap.a-b.1058a5b0ae"),
        (
            target(
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
                "",
                "",
                Mode::All,
            ),
            concat!(
                r#"{"capabilities":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","#,
                r#""bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]}"#
            ),
            "cap.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa+bbbbbbbbbbbbbbbbbbbbbbbb.479adf26d1",
        ),
        (target("c++", "", "", Mode::All), r#"{"capabilities":["c++"]}"#, "cap.c--.9966414683"),
        (target("a+b", "", "", Mode::All), r#"{"capabilities":["a+b"]}"#, "cap.a-b.cf7f02841c"),
        (
            target("a-b.1058a5b0ae", "", "", Mode::All),
            r#"{"capabilities":["a-b.1058a5b0ae"]}"#,
            "cap.a-b.1058a5b0ae.bc7aa242db",
        ),
        (target("0123456789", "", "", Mode::All), r#"{"capabilities":["0123456789"]}"#, "cap.0123456789"),
        (target("v1.0123456789x", "", "", Mode::All), r#"{"capabilities":["v1.0123456789x"]}"#, "cap.v1.0123456789x"),
        (Target::default(), "{}", ""),
    ];
    for (target, canonical, slug) in rows {
        assert_eq!((&*target.canonical(), &*target.slug()), (canonical, slug));
        assert_eq!(Target::parse(canonical).unwrap(), target);
    }
}

#[test]
fn a_worker_matches_as_the_table_says() {
    let worker = profile("exec-17", "gpu gpu:a100", "python spark", "eu");
    let rows = [
        (Target::default(), true),
        (server("exec-17"), true),
        (server("exec-18"), false),
        (target("gpu", "", "", Mode::All), true),
        (target("gpu:*", "", "", Mode::All), true),
        (target("*", "", "", Mode::All), true),
        (target("tpu:*", "", "", Mode::All), false),
        (target("gpu tpu", "", "", Mode::All), false),
        (target("gpu tpu", "", "", Mode::Any), true),
        (target("gpu tpu", "", "", Mode::Each), true),
        (target("gpu", "node python", "eu us", Mode::All), true),
        (target("gpu", "node", "eu", Mode::All), false),
        (target("tpu", "node", "eu", Mode::Any), true),
        (target("tpu", "node", "us", Mode::Any), false),
        (target("gpu tpu", "python", "eu", Mode::Each), true),
        (target("gpu tpu", "node", "eu", Mode::Each), false),
    ];
    for (target, expected) in rows {
        assert_eq!(target.matches(&worker), expected, "{}", target.canonical());
    }
    assert!(!target("*", "", "", Mode::All).matches(&Profile::default()));
}

#[test]
fn a_target_implies_another_one_if_all_workers_that_match_it_match_the_other() {
    let one_of = |words: &[&str], chosen: usize| -> Vec<String> {
        let chosen = words.iter().enumerate().filter(|(at, _)| chosen & (1 << at) != 0);
        chosen.map(|(_, word)| (*word).to_owned()).collect()
    };
    let profiles: Vec<Profile> = (0..128)
        .map(|chosen| {
            let server = (chosen & 1 != 0).then(|| "exec-17".to_owned());
            let (stack, region) = (one_of(&["a", "b"], chosen >> 1), one_of(&["r"], chosen >> 3));
            Profile::new(server, stack, one_of(&["x", "y:1", "y:2"], chosen >> 4), region).unwrap()
        })
        .collect();
    let mut targets = vec![server("exec-17"), server("exec-18")];
    for mode in [Mode::All, Mode::Any, Mode::Each] {
        for chosen in 1..128 {
            let (stack, region) = (one_of(&["a", "b"], chosen), one_of(&["r"], chosen >> 2));
            let capabilities = one_of(&["x", "y:1", "y:*", "*"], chosen >> 3);
            targets.push(Target::new(None, stack, capabilities, region, mode).unwrap());
        }
    }
    for (one, other) in targets.iter().flat_map(|one| targets.iter().map(move |other| (one, other))) {
        // No worker of the table is exec-18, and each that has `y:1` or `y:2` could have another one besides.
        let named = profiles.iter().filter(|profile| one.matches(profile));
        if one.implies(other) {
            assert!(named.clone().all(|profile| other.matches(profile)), "{} {}", one.canonical(), other.canonical());
        } else if *one != server("exec-18") && !one.canonical().contains("\"*\"") {
            let separated = named.clone().any(|profile| !other.matches(profile));
            assert!(separated, "{} {}", one.canonical(), other.canonical());
        }
    }
}

#[test]
fn a_worker_knows_the_routes_with_one_criterion() {
    let worker = profile("exec-17", "gpu cuda12", "python", "eu us");
    let slugs: Vec<String> = worker.self_routes().iter().map(Target::slug).collect();
    assert_eq!(slugs, ["srv.exec-17", "cap.cuda12", "cap.gpu", "stk.python", "reg.eu", "reg.us"]);
    assert!(worker.self_routes().iter().all(|target| target.matches(&worker)));
}

#[test]
fn the_closest_tier_has_the_most_turns() {
    let tiers = [server("a").tier(), target("gpu", "", "", Mode::All).tier(), Target::default().tier()];
    assert_eq!(tiers, [Tier::Server, Tier::Specific, Tier::Base]);
    assert!(tiers.is_sorted());
    assert_eq!(tiers.map(Tier::weight), [4, 2, 1]);
}

#[test]
fn words_that_are_no_tokens_are_refused_by_name() {
    let long = "x".repeat(65);
    for token in ["", "a b", "gpu*x", "**", "ü", "a~b", "a,b", "a\n", &long] {
        let refused = Target::new(None, vec![], vec![token.to_owned()], vec![], Mode::All);
        assert!(
            matches!(refused, Err(Error::InvalidOption(text)) if text.starts_with("target.capabilities")),
            "{token:?}"
        );
    }
    assert!(Target::new(None, tokens("py*"), vec![], vec![], Mode::All).is_err());
    assert!(Profile::new(None, vec![], tokens("gpu:*"), vec![]).is_err());
    let many = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    assert!(Target::new(None, many(8), many(16), many(8), Mode::All).is_ok());
    assert!(Target::new(None, many(9), vec![], vec![], Mode::All).is_err());
    assert!(Target::new(None, vec![], many(17), vec![], Mode::All).is_err());
    assert!(Target::new(None, vec![], vec![], many(9), Mode::All).is_err());
    assert!(Profile::new(None, many(40), many(40), many(40)).is_ok());
}

#[test]
fn a_route_is_known_by_its_name() {
    assert_eq!(queue_of("video", "cap.gpu"), "video~cap.gpu");
    assert_eq!(queue_of("video", ""), "video");
    assert_eq!(split_name("video~cap.gpu"), Some(("video", "cap.gpu")));
    assert_eq!(split_name("a~b~any.stk.x_reg.y"), Some(("a~b", "any.stk.x_reg.y")));
    for plain in ["video", "my~queue", "video~", "~cap.gpu", "video~cap.", "video~any.", "video~other.x"] {
        assert_eq!(split_name(plain), None, "{plain}");
    }
}

#[test]
fn an_entry_of_the_registry_is_read_if_this_version_could_have_written_it() {
    let gpu = target("gpu", "", "", Mode::All);
    let entry = |json: &str| RouteEntry::parse("cap.gpu", json);
    assert_eq!(entry(r#"{"capabilities":["gpu"]}"#).unwrap(), RouteEntry { target: gpu.clone(), fallback: None });
    let read = entry(r#"{"capabilities":["gpu"],"fallback":"base","fallback_after":500}"#).unwrap();
    assert_eq!(read.fallback, Some(Fallback { after: 500, to: Target::default() }));
    let read = entry(r#"{"capabilities":["gpu"],"fallback":{"region":["eu"]},"fallback_after":500}"#).unwrap();
    assert_eq!(read.fallback, Some(Fallback { after: 500, to: target("", "", "eu", Mode::All) }));
    for strange in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"capabilities":"gpu"}"#,
        r#"{"capabilities":[7]}"#,
        r#"{"capabilities":["tpu"]}"#,
        r#"{"capabilities":["gpu"],"zone":"b"}"#,
        r#"{"capabilities":["gpu"],"mode":"most"}"#,
        r#"{"capabilities":["gpu"],"server":7}"#,
        r#"{"capabilities":["gpu"],"fallback":"base"}"#,
        r#"{"capabilities":["gpu"],"fallback":"far","fallback_after":500}"#,
        r#"{"capabilities":["gpu"],"fallback":"base","fallback_after":-1}"#,
        r#"{"capabilities":["gpu"],"fallback":"base","fallback_after":"soon"}"#,
    ] {
        assert!(entry(strange).is_err(), "{strange}");
    }
}

#[tokio::test]
async fn a_route_with_jobs_is_registered_again_when_its_base_was_removed_and_one_without_is_not() {
    let server = Server::start();
    let link = server.link();
    let (base, route) = (Keys::new("bull", "q").unwrap(), Keys::new("bull", "q~cap.gpu").unwrap());
    let known_for = Duration::from_millis(400);
    for again in [1, 0] {
        let gpu = target("gpu", "", "", Mode::All);
        let registration = Registration::new(base.clone(), gpu, NewFallback::Unchanged).renewed_after(known_for);
        let queue = QueueHandle::new(link.clone(), link.clone(), route.clone(), QueueOptions::default())
            .with_registration(Some(registration));
        let mut batch = JobBatch::new();
        batch.push(job("{}"));
        queue.add_jobs(&batch).await.unwrap();
        run(&link, "DEL bull:q:ext:routes").await;
        queue.add_jobs(&batch).await.unwrap();
        if again == 0 {
            run(&link, "DEL bull:q~cap.gpu:wait").await;
        }
        assert_eq!(number(&link, "HLEN bull:q:ext:routes").await, 0);
        let later = Instant::now() + known_for * if again == 0 { 2 } else { 20 };
        while number(&link, "HLEN bull:q:ext:routes").await == 0 && Instant::now() < later {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(number(&link, "HLEN bull:q:ext:routes").await, again);
        run(&link, "DEL bull:q:ext:routes").await;
    }
}

#[tokio::test]
async fn a_route_is_registered_again_when_the_server_behind_a_new_connection_does_not_know_it() {
    let server = Server::start();
    let (link, observer) = (server.link(), server.link());
    let (base, route) = (Keys::new("bull", "q").unwrap(), Keys::new("bull", "q~cap.gpu").unwrap());
    let registration = Registration::new(base, target("gpu", "", "", Mode::All), NewFallback::Unchanged);
    let queue = QueueHandle::new(link.clone(), link.clone(), route, QueueOptions::default())
        .with_registration(Some(registration));
    let mut batch = JobBatch::new();
    batch.push(job("{}"));
    queue.add_jobs(&batch).await.unwrap();
    run(&observer, "DEL bull:q:ext:routes").await;
    let before = link.generation();
    link.renew("of the test");
    until("it has connected anew", || async { link.generation() > before }).await;
    queue.add_jobs(&batch).await.unwrap();
    assert_eq!(number(&observer, "HLEN bull:q:ext:routes").await, 1);
}

#[tokio::test]
async fn a_route_is_registered_before_its_first_job_and_again_after_some_time() {
    let server = Server::start();
    let link = server.link();
    let (base, route) = (Keys::new("bull", "q").unwrap(), Keys::new("bull", "q~cap.gpu").unwrap());
    for (known_for, again) in [(Duration::ZERO, 1), (Duration::from_secs(3600), 0)] {
        let gpu = target("gpu", "", "", Mode::All);
        let registration = Registration::new(base.clone(), gpu, NewFallback::Unchanged).renewed_after(known_for);
        let queue = QueueHandle::new(link.clone(), link.clone(), route.clone(), QueueOptions::default())
            .with_registration(Some(registration));
        let mut batch = JobBatch::new();
        batch.push(job("{}"));
        queue.add_jobs(&batch).await.unwrap();
        assert_eq!(text(&link, "HGET bull:q:ext:routes cap.gpu").await, r#"{"capabilities":["gpu"]}"#);
        // Another program removes the base queue, and so the registry.
        run(&link, "DEL bull:q:ext:routes").await;
        queue.add_jobs(&batch).await.unwrap();
        assert_eq!(number(&link, "HLEN bull:q:ext:routes").await, again);
        run(&link, "DEL bull:q:ext:routes").await;
    }
    assert_eq!(number(&link, "LLEN bull:q~cap.gpu:wait").await, 4);
}
