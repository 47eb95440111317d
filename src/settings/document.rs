//! `docs/parameters.md`, made from the table of parameters, and the test that the file is what the table says.

use std::fmt::Write as _;

use super::{Effect, Kind, PARAMETERS, Parameter};

/// What a parameter that does something here does. A parameter that is missing here fails the test.
fn meaning(name: &str) -> &'static str {
    match name {
        "bind" => "Addresses listened on: `--bind`.",
        "client-query-buffer-limit" => {
            "Bytes of one request that has not arrived in full, at most 3gb; a client that sends more is cut off. Also bytes of what is \
             queued between MULTI and EXEC; more is refused, and then EXEC."
        }
        "client-output-buffer-limit" => {
            "What may wait for a client that does not read, by class: bytes at once, and bytes for so many seconds; beyond it is cut off. \
             `pubsub` are those that have subscribed, `normal` all others, whose replies are not sent faster than they are read; what \
             they have not asked for is bounded by 32mb where there is no other limit."
        }
        "databases" => "How many databases there are: `--databases`.",
        "enable-debug-command" => "From where `DEBUG` is taken: `--enable-debug-command`.",
        "io-threads" => "Worker threads, one a core unless told otherwise: `--threads`.",
        "latency-monitor-threshold" => "Milliseconds from which on a command is noted for `LATENCY`; 0 notes none.",
        "latency-tracking" => "Whether durations are kept for `LATENCY HISTOGRAM` and `INFO latencystats`.",
        "latency-tracking-info-percentiles" => {
            "The percentages of calls of which `INFO latencystats` tells how long they took at most."
        }
        "loglevel" => "What is written to standard error: `--loglevel`.",
        "maxclients" => "Connections served at once; further ones are refused: `--maxclients`.",
        "maxmemory-policy" => {
            "Whether `OBJECT FREQ` (a policy that ends in `-lfu`) or `OBJECT IDLETIME` (any other) is kept. Nothing is evicted."
        }
        "notify-keyspace-events" => {
            "Which events of keys are published: K on `__keyspace@<db>__:<key>`, E on `__keyevent@<db>__:<event>`, and a letter for each class."
        }
        "port" => "The TCP port listened on: `--port`.",
        "proto-max-bulk-len" => {
            "Bytes of the longest argument, and of the longest string that a command may make; from 1gb on, one byte less than that."
        }
        "requirepass" => "The password that connections made from then on must give; empty requires none: `--requirepass`.",
        "slowlog-log-slower-than" => {
            "Microseconds from which on a command is kept in the slow log; negative keeps none. \
             Commands of constant cost are timed one by one only when this is below 1000."
        }
        "slowlog-max-len" => "Entries of the slow log.",
        "tcp-keepalive" => "Seconds between TCP keep-alive probes on connections made from then on; 0 is off: `--tcp-keepalive`.",
        "timeout" => "Seconds after which a silent connection is closed; 0 is never: `--timeout`.",
        "tracking-table-max-keys" => {
            "Keys that are remembered for clients that track what they read; of more, some are told as if they had changed. 0 is no bound."
        }
        "unixsocket" => "The Unix socket listened on: `--unixsocket`.",
        _ => unreachable!("{name} has an effect, so this documentation says which"),
    }
}

fn takes(kind: Kind) -> String {
    let limit = |number: &dyn ToString| match number.to_string().as_str() {
        "9223372036854775807" => "2^63-1".to_owned(),
        "18446744073709551615" => "2^64-1".to_owned(),
        "2147483647" => "2^31-1".to_owned(),
        "-2147483648" => "-2^31".to_owned(),
        "4294967295" => "2^32-1".to_owned(),
        number => number.to_owned(),
    };
    match kind {
        Kind::Bool => "`yes`, `no`".to_owned(),
        Kind::Enum(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Kind::Int(min, max) => format!("{} to {}", limit(&min), limit(&max)),
        Kind::Memory(min, max) => format!("{} to {} bytes, or with a unit", limit(&min), limit(&max)),
        Kind::MemoryOrPercent => "bytes, or a percentage".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Special(_) => "Redis's own syntax".to_owned(),
    }
}

fn default(parameter: &Parameter) -> String {
    if parameter.default.is_empty() { "(empty)".to_owned() } else { format!("`{}`", parameter.default) }
}

fn document() -> String {
    let has_effect = |parameter: &&Parameter| !matches!(parameter.effect, Effect::None);
    let is_alias = |parameter: &&Parameter| parameter.first_name() != parameter.name;
    let mut out = String::from(
        "# Parameters\n\n\
         `CONFIG GET` and `CONFIG SET` know every parameter that Redis 7 has, check values as Redis does and refuse unknown names in\n\
         its words. Numbers of bytes may end in `k`, `m`, `g` (1000 each) or `kb`, `mb`, `gb` (1024 each). A parameter is given at the\n\
         start with its flag or as `--set NAME=VALUE`. Where the default differs from Redis's, it is because the feature is not here.\n\n\
         ## With effect\n\n\
         | parameter | takes | default | what it does |\n| --- | --- | --- | --- |\n",
    );
    for parameter in PARAMETERS.iter().filter(has_effect) {
        let takes = if parameter.unsettable().is_some() { "given at the start only".to_owned() } else { takes(parameter.kind()) };
        let _infallible =
            writeln!(out, "| `{}` | {takes} | {} | {} |", parameter.name, default(parameter), meaning(parameter.name));
    }
    out.push_str(
        "\n## Without effect\n\n\
         These are kept and returned, and change nothing.\n\n\
         | parameter | takes | default |\n| --- | --- | --- |\n",
    );
    for parameter in PARAMETERS.iter().filter(|parameter| !has_effect(parameter) && !is_alias(parameter)) {
        let takes = if parameter.unsettable().is_some() { "cannot be set".to_owned() } else { takes(parameter.kind()) };
        let _infallible = writeln!(out, "| `{}` | {takes} | {} |", parameter.name, default(parameter));
    }
    out.push_str("\n## Older names\n\n| name | stands for |\n| --- | --- |\n");
    for parameter in PARAMETERS.iter().filter(is_alias) {
        let _infallible = writeln!(out, "| `{}` | `{}` |", parameter.name, parameter.first_name());
    }
    out
}

#[test]
fn the_file_says_what_the_table_says() {
    crate::document::check("parameters.md", &document());
}
