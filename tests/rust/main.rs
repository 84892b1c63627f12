//! Tests of the core against a private Redis server; they need `redis-server` on PATH.

mod blocking;
mod coalesced_calls;
mod cron;
mod fake;
mod faults;
mod fuzz;
mod link;
mod out_of_step;
mod proof_of_life;
mod protocol;
mod proxy;
mod queue;
mod recorder;
mod replies;
mod route;
mod route_names;
mod scripts;
mod server;
mod short_messages;
mod subscriber;
