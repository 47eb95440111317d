//! The processes this program has started, so that none outlives it.
//!
//! Every child is started and ended here, and only through its own handle: nothing is ever ended by name.
//! A SIGKILL of this program itself is the one end that leaves its servers running.

use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};

/// Exit status after a signal: what a shell reports for SIGINT.
const INTERRUPTED: i32 = 130;

/// How often a child that should be ending is looked at.
const EXIT_POLL: Duration = Duration::from_millis(2);

static RUNNING: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// A started process; dropping it ends the process and waits for it.
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The process's standard output, when `command` asked for a pipe.
    pub(crate) stdout: Option<ChildStdout>,
}

impl Process {
    /// Starts `command` in a process group of its own, so that a Ctrl-C reaches this program alone.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self, String> {
        // Started under the lock: a signal finds either the child in the list or none started.
        let mut running = running();
        let mut child =
            command.process_group(0).spawn().map_err(|e| format!("cannot start {}: {e}", command.get_program().display()))?;
        let process = Self { pid: child.id(), stdout: child.stdout.take() };
        running.push(child);
        Ok(process)
    }

    /// The exit status, if the process has ended by itself.
    pub(crate) fn exited(&self) -> Result<Option<ExitStatus>, String> {
        match running().iter_mut().find(|child| child.id() == self.pid) {
            Some(child) => child.try_wait().map_err(|e| format!("waiting for process {}: {e}", self.pid)),
            None => Err(format!("process {} is not ours any more", self.pid)),
        }
    }

    /// Waits until the process ends by itself, at most until `limit` has passed.
    pub(crate) fn wait(&self, limit: Duration) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.exited()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(format!("process {} did not end within {limit:?}", self.pid));
            }
            thread::sleep(EXIT_POLL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut running = running();
        if let Some(index) = running.iter().position(|child| child.id() == self.pid) {
            end(&mut running.swap_remove(index));
        }
    }
}

/// From now on SIGINT, SIGTERM and SIGHUP end every child and then this program.
pub(crate) fn end_all_on_signal() -> Result<(), String> {
    let failed = |e: std::io::Error| format!("cannot watch for signals: {e}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    // Registered before the thread starts: the first child must not be started unwatched.
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    drop(guard);
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        });
        // The lock is held until the process is gone, so nothing can be started behind our back.
        let mut running = running();
        running.iter_mut().for_each(end);
        eprintln!("\ncompare: interrupted, all servers ended");
        std::process::exit(INTERRUPTED);
    });
    Ok(())
}

/// The list stays usable after a panic elsewhere: ending the children matters most then.
fn running() -> MutexGuard<'static, Vec<Child>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// SIGKILL is enough: no server here has anything to save.
fn end(child: &mut Child) {
    if let Err(error) = child.kill().and_then(|()| child.wait()) {
        eprintln!("compare: cannot end process {}: {error}", child.id());
    }
}
