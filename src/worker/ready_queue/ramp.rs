//! Wakes more threads while the awake ones are too slow.

use std::time::Duration;

use super::ReadyQueue;

/// How often to check whether the awake threads keep up.
const TICK: Duration = Duration::from_millis(1);
/// With this many jobs per tick the awake threads keep up.
const KEEPS_UP: u64 = 20;
/// Quick handlers get more threads only when no job was taken for [`STILL_TICKS`]: a thread that was only preempted
/// needs no help, and each further thread costs switches of the GIL.
const QUICK: Duration = Duration::from_micros(100);
const STILL_TICKS: u32 = 6;

impl ReadyQueue {
    /// Wake more threads, twice as many each time, while jobs wait and the awake threads do not keep up.
    pub async fn ramp(&self) {
        loop {
            self.pushed.notified().await;
            let (mut step, mut still) = (1, 0);
            loop {
                let before = self.taken();
                tokio::time::sleep(TICK).await;
                let time = self.handler_time.get();
                let quick = !time.is_zero() && time < QUICK;
                let taken = self.taken() - before;
                let mut state = self.state.lock();
                if state.closed {
                    return;
                }
                if state.jobs.is_empty() || state.sleeping.is_empty() {
                    break;
                }
                still = if taken == 0 { still + 1 } else { 0 };
                let behind = if quick { still >= STILL_TICKS } else { taken < KEEPS_UP };
                if behind {
                    let wake = state.jobs.len().min(step);
                    let to_wake = state.choose(wake);
                    drop(state);
                    to_wake.wake();
                    step *= 2;
                    still = 0;
                }
            }
        }
    }
}
