//! The corpus against our binary over TCP, in every delivery.
//! A failure here and not in the oracle is ours.

use crate::differences::Differences;
use crate::oracle::check;
use crate::play::Delivery;
use crate::process::Server;
use crate::transcript::corpus;

#[test]
fn our_binary_answers_request_by_request() {
    check(
        &corpus(),
        &[Delivery::OneByOne],
        Server::redlet,
        &Differences::none(),
    );
}

#[test]
fn our_binary_answers_pipelines() {
    check(
        &corpus(),
        &[Delivery::Pipelined],
        Server::redlet,
        &Differences::none(),
    );
}

#[test]
fn our_binary_answers_requests_that_come_in_single_bytes() {
    check(
        &corpus(),
        &[Delivery::ByteByByte],
        Server::redlet,
        &Differences::none(),
    );
}
