//! The house rules that a machine can check: who may know whom, budgets, module docs, and a transcript for every command.

use std::fs;
use std::path::{Path, PathBuf};

use redlet::internals::table;

/// Who may know whom, from the leaves up. A module names only modules above it in this list, and of those only the ones beside it, so
/// the list itself shows that there is no cycle.
const GRAPH: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("document", &[]),
    ("error", &[]),
    ("config", &["error"]),
    ("number", &[]),
    ("glob", &[]),
    ("secret", &[]),
    ("log", &["config"]),
    ("stats", &["clock"]),
    ("latency", &[]),
    ("process", &[]),
    ("slowlog", &[]),
    ("resp", &["number"]),
    ("store", &["clock", "number"]),
    ("settings", &["config", "document", "error", "glob", "log", "number", "secret"]),
    ("clients", &["clock", "resp", "settings"]),
    ("session", &["clients", "resp"]),
    ("pubsub", &["clients", "clock", "glob", "resp"]),
    ("marks", &[]),
    ("watched", &["clients", "clock", "marks", "store"]),
    ("tracking", &["clients", "clock", "marks", "resp", "settings", "store"]),
    (
        "shared",
        &[
            "clients", "clock", "config", "error", "latency", "log", "pubsub", "settings", "slowlog", "stats", "store", "tracking",
            "watched",
        ],
    ),
    ("events", &["clients", "settings", "shared", "store"]),
    (
        "command",
        &[
            "clients", "clock", "config", "document", "glob", "latency", "log", "number", "process", "pubsub", "resp", "session",
            "settings", "shared", "slowlog", "stats", "store", "tracking", "watched",
        ],
    ),
    (
        "conversation",
        &["clients", "clock", "command", "config", "events", "resp", "session", "settings", "shared", "stats", "store"],
    ),
    ("workers", &["clients", "clock", "config", "conversation", "resp", "shared"]),
    ("socket", &["clients", "clock", "config", "conversation", "resp", "shared", "workers"]),
    ("server", &["clients", "clock", "config", "conversation", "error", "events", "shared", "socket", "store", "workers"]),
    ("embed", &["config", "error", "server", "shared"]),
];

/// The crates that only some modules may touch.
const CRATES: &[(&str, &[&str])] = &[
    ("redis_protocol", &["resp"]),
    ("dashmap", &["store"]),
    ("crossbeam_utils", &["store"]),
    ("hashbrown", &["store"]),
    ("ahash", &["store"]),
    ("sha1_smol", &["command"]),
    ("twox_hash", &["command"]),
    ("socket2", &["server"]),
    ("tokio", &["server", "socket", "workers", "embed", "main"]),
    ("clap", &["main", "ping"]),
    ("mimalloc", &["main"]),
    ("rlimit", &["main"]),
];

/// The only files in which `unsafe` may stand.
const UNSAFE: &[&str] = &["src/store/entry.rs", "src/store/slab.rs", "src/store/table.rs"];

/// Modules without I/O, without waiting and without a look at the wall clock, and what they must therefore not name.
const PURE: &[&str] = &["resp", "store", "session", "command", "conversation"];
const IMPURE: &[&str] = &["async fn", ".await", "tokio::", "std::net", "std::fs", "SystemTime", "std::thread::sleep"];

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

/// All `.rs` files below `folder`, with their contents.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the package") {
            let path = entry.expect("an entry of the folder").path();
            if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file is text");
                let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("a file of the package").to_owned();
                found.push((name, text));
            }
        }
    }
    assert!(!found.is_empty(), "there are sources below {folder}");
    found
}

/// The top-level module that a file below `src` belongs to.
fn module(path: &Path) -> String {
    let inner = path.strip_prefix("src").expect("a file below src");
    let first = inner.components().next().expect("a file has a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Reports all complaints together.
#[track_caller]
fn check(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn modules_know_only_whom_they_may() {
    for (place, (module, known)) in GRAPH.iter().enumerate() {
        for name in *known {
            assert!(GRAPH[..place].iter().any(|(above, _)| above == name), "{module} may know {name}, which is not above it");
        }
    }
    let mut complaints = Vec::new();
    for (path, text) in sources("src") {
        let own = module(&path);
        if ["lib", "main", "ping"].contains(&own.as_str()) {
            continue;
        }
        let Some((_, known)) = GRAPH.iter().find(|(name, _)| *name == own) else {
            complaints.push(format!("{}: the module {own} is not in the graph", path.display()));
            continue;
        };
        for named in text.split("crate::").skip(1) {
            let named: String = named.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let is_module = GRAPH.iter().any(|(name, _)| *name == named);
            if is_module && named != own && !known.contains(&named.as_str()) {
                complaints.push(format!("{}: {own} may not know {named}", path.display()));
            }
        }
    }
    check(&complaints);
}

#[test]
fn crates_are_touched_only_where_they_may_be() {
    let mut complaints = Vec::new();
    for (path, text) in sources("src") {
        let own = module(&path);
        for (name, allowed) in CRATES {
            let touches = text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(&format!("{name}::")));
            if touches && !allowed.contains(&own.as_str()) {
                complaints.push(format!("{}: {own} may not touch {name}", path.display()));
            }
        }
    }
    check(&complaints);
}

#[test]
fn unsafe_stands_only_in_the_store() {
    let mut complaints = Vec::new();
    for (path, text) in sources("src") {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let uses = code.filter(|line| line.contains("unsafe ") || line.contains("unsafe{")).count();
        if uses > 0 && !UNSAFE.iter().any(|allowed| path == Path::new(allowed)) {
            complaints.push(format!("{}: unsafe", path.display()));
        }
    }
    check(&complaints);
}

#[test]
fn the_data_path_is_pure() {
    let mut complaints = Vec::new();
    for (path, text) in sources("src").into_iter().filter(|(path, _)| PURE.contains(&module(path).as_str())) {
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for word in IMPURE.iter().filter(|word| line.contains(**word)) {
                complaints.push(format!("{}: {word} in `{}`", path.display(), line.trim()));
            }
        }
    }
    check(&complaints);
}

#[test]
fn files_and_functions_keep_their_budgets() {
    let mut complaints = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for (path, text) in sources(folder) {
            let lines: Vec<_> = text.lines().collect();
            if lines.len() > FILE_LINES_MAX {
                complaints.push(format!("{}: {} lines", path.display(), lines.len()));
            }
            for (start, line) in lines.iter().enumerate() {
                let indent = line.len() - line.trim_start().len();
                let is_function = line.trim_start().split("fn ").next().is_some_and(|before| {
                    line.contains("fn ")
                        && before
                            .split(' ')
                            .all(|word| ["", "pub", "const", "async", "unsafe", "pub(crate)", "pub(super)"].contains(&word))
                });
                // rustfmt puts a function's last brace below its first letter.
                let closing = format!("{}}}", " ".repeat(indent));
                if is_function && !line.ends_with('}') && !line.ends_with(';') {
                    let length = lines[start..].iter().position(|line| *line == closing).map_or(0, |end| end + 1);
                    if length > FUNCTION_LINES_MAX {
                        complaints.push(format!("{}:{}: a function of {length} lines", path.display(), start + 1));
                    }
                }
            }
        }
    }
    check(&complaints);
}

#[test]
fn every_module_says_what_it_is() {
    let mut complaints = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for (path, text) in sources(folder) {
            if !text.starts_with("//! ") {
                complaints.push(format!("{}: begins without a module doc", path.display()));
            }
        }
    }
    check(&complaints);
}

#[test]
fn every_command_has_a_transcript() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut said = Vec::new();
    for entry in fs::read_dir(folder).expect("the transcripts") {
        let text = fs::read_to_string(entry.expect("a transcript").path()).expect("a transcript is text");
        for request in text.lines().filter_map(|line| line.strip_prefix("> ")) {
            let words: Vec<_> = request.split_whitespace().map(str::to_ascii_lowercase).collect();
            said.extend(words.first().cloned());
            said.extend(words.get(..2).map(|words| words.join("|")));
        }
    }
    let missing = table().all().map(|command| command.full_name).filter(|name| !said.iter().any(|word| word == name));
    check(&missing.map(|name| format!("{name}: no transcript says it")).collect::<Vec<_>>());
}
