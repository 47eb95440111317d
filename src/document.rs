//! Files in `docs` that are made from tables. Knows none of the tables; only tests use it.

/// Checks that `docs/NAME` holds what was `made`. With `REDLET_WRITE_DOCS` set it writes the file first.
#[track_caller]
pub(crate) fn check(name: &str, made: &str) {
    let path = format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("REDLET_WRITE_DOCS").is_some() {
        std::fs::write(&path, made).expect("the file can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = written.lines().zip(made.lines()).find(|(written, made)| written != made);
    assert_eq!(differing, None, "docs/{name} is out of date: run this test with REDLET_WRITE_DOCS=1");
    assert!(written == made, "docs/{name} is too short or too long: run this test with REDLET_WRITE_DOCS=1");
}
