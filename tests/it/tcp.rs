//! The corpus against our binary over TCP, in every delivery.
//! A failure here and not in the oracle is ours.

use crate::differences::Differences;
use crate::play::Delivery;
use crate::process::Server;
use crate::stage::check;
use crate::transcript::corpus;

#[track_caller]
fn check_our_binary(delivery: Delivery) {
    check(&corpus(), &[delivery], &Differences::none(), || Server::redlet().into_peer());
}

#[test]
fn our_binary_answers_request_by_request() {
    check_our_binary(Delivery::OneByOne);
}

#[test]
fn our_binary_answers_pipelines() {
    check_our_binary(Delivery::Pipelined);
}

#[test]
fn our_binary_answers_requests_that_come_in_single_bytes() {
    check_our_binary(Delivery::ByteByByte);
}
