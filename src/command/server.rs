//! The server as a whole: what it says about itself, its parameters, its keyspace and its ending.

mod command;
mod config;
mod debug;
mod docs;
mod info;
mod keyspace;
mod latency;
mod lolwut;
mod memory;
pub(super) mod monitor;
mod shutdown;
mod slowlog;

use super::Spec;

pub(super) const SPECS: &[&Spec] = &[
    &info::INFO,
    &config::CONFIG,
    &command::COMMAND,
    &keyspace::DBSIZE,
    &keyspace::FLUSHDB,
    &keyspace::FLUSHALL,
    &keyspace::SWAPDB,
    &keyspace::TIME,
    &keyspace::ROLE,
    &keyspace::LASTSAVE,
    &debug::DEBUG,
    &memory::MEMORY,
    &slowlog::SLOWLOG,
    &latency::LATENCY,
    &lolwut::LOLWUT,
    &shutdown::SHUTDOWN,
];
