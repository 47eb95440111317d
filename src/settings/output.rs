//! `client-output-buffer-limit`: how much may wait for a client before it is cut off.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::config::MAILBOX_BYTES_MAX;
use crate::number::parse_i64;

/// What may wait for one client. 0 bytes stand for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputLimit {
    /// At once, in bytes.
    pub hard_bytes: usize,
    /// For longer than `soft_millis`, in bytes.
    pub soft_bytes: usize,
    /// In milliseconds.
    pub soft_millis: u64,
}

/// The limits of the classes of clients.
#[derive(Debug, Default)]
pub(super) struct OutputLimits {
    normal: Limit,
    pubsub: Limit,
}

#[derive(Debug, Default)]
struct Limit {
    hard_bytes: AtomicUsize,
    soft_bytes: AtomicUsize,
    soft_millis: AtomicU64,
}

impl OutputLimits {
    /// Takes the parameter's value: for each class its name, two numbers of bytes and one of seconds.
    pub(super) fn set(&self, value: &[u8]) {
        let words: Vec<&[u8]> = value.split(|&byte| byte == b' ').collect();
        for class in words.chunks_exact(4) {
            let limit = match class[0] {
                b"normal" => &self.normal,
                b"pubsub" => &self.pubsub,
                _ => continue,
            };
            // The parameter takes nothing that is no number.
            let number = |at: usize| parse_i64(class[at]).and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
            let bytes = |at| usize::try_from(number(at)).unwrap_or(usize::MAX);
            limit.hard_bytes.store(bytes(1), Ordering::Relaxed);
            limit.soft_bytes.store(bytes(2), Ordering::Relaxed);
            limit.soft_millis.store(number(3).saturating_mul(1000), Ordering::Relaxed);
        }
    }

    /// What may wait for a client that has subscribed to something, or for any other. Where Redis has no bound for others, this has.
    pub(super) fn of(&self, is_subscriber: bool) -> OutputLimit {
        let limit = if is_subscriber { &self.pubsub } else { &self.normal };
        let hard_bytes = match limit.hard_bytes.load(Ordering::Relaxed) {
            0 if !is_subscriber => MAILBOX_BYTES_MAX,
            bytes => bytes,
        };
        OutputLimit {
            hard_bytes,
            soft_bytes: limit.soft_bytes.load(Ordering::Relaxed),
            soft_millis: limit.soft_millis.load(Ordering::Relaxed),
        }
    }
}
