//! Integration tests, one crate: what a client says and hears, judged by the same transcripts wherever they are played.

// Words, escapes and repetitions of the transcripts.
mod quoting;
// The notation of replies, in both protocols.
mod reply;
// Where a reply ends and what it says.
mod frame;
// The file format of the corpus.
mod transcript;
// Plays a transcript to a peer and reports what differs.
mod play;
// Plays the whole corpus, several files at once.
mod stage;
// The listed differences between redis-server and this server.
mod differences;
// Servers as processes, spoken to over TCP.
mod process;
// Writes the replies of a real server into the corpus.
mod record;
// The corpus against a real redis-server.
mod oracle;
// The corpus against our binary, over TCP.
#[cfg(feature = "cli")]
mod tcp;
// The corpus without a socket: fed whole, pipelined and byte by byte to the conversation.
mod conversation;
// The server inside a program: it starts, answers, and leaves nothing behind.
mod embedded;
// Requests made from the syntax in the command table.
mod syntax;
// The command table judged by itself, and its requests by a real redis-server.
mod table;
// Every command of the table within a transaction.
mod queued;
// Where what others send comes between a client's replies.
mod unasked;
// What COMMAND says of our commands, against a real redis-server.
mod docs;
// The request parser: redis-protocol agrees with it, and segments make no difference.
mod parser;
// The output of a batch: shared values among plain bytes, taken in parts.
mod output;
// Bytes and arguments that nobody of good will sends.
mod hostile;
// What a client may cost, and how a server ends that has clients.
#[cfg(feature = "cli")]
mod limits;
// What the binary says to a mistake at its start.
#[cfg(feature = "cli")]
mod flags;
// Concurrent clients on few keys: their histories are linearizable.
mod linear;
// Concurrent transactions and WATCH loops: they have an order, and nothing is lost.
mod serial;
// Clients that cache while others write: no cache is wrong at rest.
mod tracking;
// Publish and subscribe at length, with many who come and go.
#[cfg(feature = "cli")]
mod soak;
// Random sequences of requests against a real redis-server.
mod random;
// The house rules that a machine can check.
mod tidy;
// Random tests whose seed is known and can be given again.
mod seeded;
// SCAN's guarantee while the keyspace grows, shrinks and loses keys; RANDOMKEY's chances.
mod scan;
// The store against a hash map, under random operations and times.
mod store;
