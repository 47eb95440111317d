//! The integration tests, one module a judge.

mod embedded; // The server inside a program: it starts, answers, and leaves nothing behind.
mod parser; // The request parser: redis-protocol agrees with it, and segments make no difference.
mod tidy; // The house rules that a machine can check.
