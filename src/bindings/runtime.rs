//! The one native thread of the process, its runtime and its shared links.

use std::future::Future;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use bullrush::connection::{Pool, STACK};
use bullrush::events::SharedFeeds;
use bullrush::scripts;
use bullrush::spin_wait::SpinWait;
use bullrush::worker::roster::Roster;

/// The native state of one process.
pub struct Core {
    pid: u32,
    handle: tokio::runtime::Handle,
    pub pool: Pool,
    /// The readers of event streams that callers share.
    pub feeds: SharedFeeds,
    pub roster: Roster,
    /// For threads that wait for a call.
    pub spin_wait: SpinWait,
}

static CORE: AtomicPtr<Core> = AtomicPtr::new(ptr::null_mut());

impl Core {
    /// The core of the current process, made at first use.
    ///
    /// After a fork the inherited core is abandoned, never dropped: its thread does not exist in the child, and its
    /// locks may be held forever. This lookup takes no lock, for the same reason.
    pub fn current() -> &'static Core {
        let pid = std::process::id();
        let found = CORE.load(Ordering::Acquire);
        // SAFETY: null, or a core from a box; a published core is never freed, not even after a fork.
        if let Some(core) = unsafe { found.as_ref() } {
            if core.pid == pid {
                return core;
            }
        }
        let made = Box::into_raw(Box::new(Core::start(pid)));
        match CORE.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it comes from a box that is published just now, so it is never freed.
            Ok(_) => unsafe { &*made },
            // SAFETY: not null, since only made cores are stored here after `found`; published cores are never freed.
            Err(theirs) => unsafe { &*theirs },
        }
    }

    fn start(pid: u32) -> Core {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .expect("the runtime needs a file descriptor");
        let handle = runtime.handle().clone();
        std::thread::Builder::new()
            .name("bullrush".to_owned())
            .stack_size(STACK)
            .spawn(move || runtime.block_on(std::future::pending::<()>()))
            .expect("the runtime needs a thread");
        Core {
            pid,
            handle,
            pool: Pool::with_scripts(scripts::hot()),
            feeds: SharedFeeds::default(),
            roster: Roster::default(),
            spin_wait: SpinWait::default(),
        }
    }

    pub fn spawn<F>(&self, future: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Enter the runtime, for calls that start tasks of their own.
    pub fn enter(&self) -> tokio::runtime::EnterGuard<'_> {
        self.handle.enter()
    }
}

/// A value that is dropped only by the process that made it.
///
/// Otherwise the garbage collector of a child would lock mutexes that no thread of the child can unlock.
pub struct OwnedByProcess<T> {
    pid: u32,
    value: std::mem::ManuallyDrop<T>,
}

impl<T> OwnedByProcess<T> {
    pub fn new(value: T) -> Self {
        Self { pid: std::process::id(), value: std::mem::ManuallyDrop::new(value) }
    }

    /// The value, or `None` in a child of the process that made it.
    pub fn get(&self) -> Option<&T> {
        (self.pid == std::process::id()).then_some(&*self.value)
    }
}

impl<T> Drop for OwnedByProcess<T> {
    fn drop(&mut self) {
        if self.pid == std::process::id() {
            // SAFETY: this is the only place that drops it, and nobody uses the value after its owner.
            unsafe { std::mem::ManuallyDrop::drop(&mut self.value) }
        }
    }
}
