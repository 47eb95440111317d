//! Each model in many orders: what relies on it holds, and is seen not to hold without its rule.

use redlet_models::{Rule, cache, mailbox, watch};
use shuttle::{check_pct, check_random};

const ORDERS: usize = 20_000;

/// In orders that chance chooses at each step, and in orders with few changes of thread, in which rare ones are found sooner.
fn check(model: fn(Rule), rule: Rule) {
    check_random(move || model(rule), ORDERS);
    check_pct(move || model(rule), ORDERS, 3);
}

#[test]
fn no_message_is_left_without_a_wake_up() {
    check(mailbox, Rule::Kept);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_receiver_that_stays_noted_sleeps_for_ever() {
    check(mailbox, Rule::Broken);
}

#[test]
fn no_change_of_a_watched_key_is_missed() {
    check(watch, Rule::Kept);
}

#[test]
#[should_panic(expected = "EXEC would run")]
fn a_watcher_that_enters_with_others_misses_changes() {
    check(watch, Rule::Broken);
}

#[test]
fn no_cache_keeps_what_has_changed() {
    check(cache, Rule::Kept);
}

#[test]
#[should_panic(expected = "is kept")]
fn a_reader_that_is_entered_late_keeps_what_has_changed() {
    check(cache, Rule::Broken);
}
