//! The latency monitor: the slowest command of each second in which one took longer than `latency-monitor-threshold`.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;

/// Samples kept of one event: Redis's `LATENCY_TS_LEN`.
const SAMPLES: usize = 160;

/// What was slow, and when.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// Unix seconds and milliseconds, the oldest first; at most one a second.
    pub samples: VecDeque<(u64, u64)>,
    /// The longest ever, in milliseconds.
    pub max_millis: u64,
}

/// The events of a server by name.
#[derive(Debug, Default)]
pub struct Latency {
    events: Mutex<BTreeMap<&'static str, Event>>,
}

impl Latency {
    /// Notes that something took `millis`.
    pub fn add(&self, event: &'static str, at_seconds: u64, millis: u64) {
        let mut events = self.events.lock();
        let event = events.entry(event).or_default();
        event.max_millis = event.max_millis.max(millis);
        match event.samples.back_mut() {
            Some((at, longest)) if *at == at_seconds => *longest = millis.max(*longest),
            _ => {
                if event.samples.len() == SAMPLES {
                    event.samples.pop_front();
                }
                event.samples.push_back((at_seconds, millis));
            }
        }
    }

    /// All events.
    pub fn all(&self) -> Vec<(&'static str, Event)> {
        self.events.lock().iter().map(|(name, event)| (*name, event.clone())).collect()
    }

    /// The event of this name.
    pub fn get(&self, name: &[u8]) -> Option<Event> {
        self.events.lock().iter().find(|(event, _)| event.as_bytes() == name).map(|(_, event)| event.clone())
    }

    /// Forgets the events for whose names `doomed` says so. How many there were.
    pub fn reset(&self, doomed: impl Fn(&str) -> bool) -> usize {
        let mut events = self.events.lock();
        let before = events.len();
        events.retain(|name, _| !doomed(name));
        before - events.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_keeps_its_slowest_and_an_event_its_last_samples() {
        let latency = Latency::default();
        for (at, millis) in [(1, 5), (1, 9), (1, 7), (2, 1)] {
            latency.add("command", at, millis);
        }
        let event = latency.get(b"command").expect("it was just added");
        assert_eq!(event.samples, [(1, 9), (2, 1)]);
        assert_eq!(event.max_millis, 9);
        (3..1000).for_each(|at| latency.add("command", at, 1));
        let event = latency.get(b"command").expect("it was just added");
        assert_eq!((event.samples.len(), event.samples[0], event.max_millis), (SAMPLES, (840, 1), 9));
        assert_eq!((latency.reset(|name| name == "other"), latency.reset(|_| true), latency.reset(|_| true)), (0, 1, 0));
    }
}
