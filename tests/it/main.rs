//! The integration tests, one module a judge.

mod embedded; // The server inside a program: it starts, answers, and leaves nothing behind.
