//! What the binary says to a mistake at its start, on standard error, and that it then says nothing on standard output.
//! Starts no server that stays.

use std::process::{Command, Output};

#[track_caller]
fn check(command: &mut Command, status: i32, told: &str) {
    let Output { status: code, stdout, stderr } = command.output().expect("the binary runs");
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(stderr.starts_with(told), "{command:?} should tell {told:?}, not {stderr:?}");
    assert_eq!(code.code(), Some(status), "{command:?}");
    assert_eq!(String::from_utf8_lossy(&stdout), "", "{command:?}");
}

fn redlet(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redlet"));
    command.args(args);
    command
}

#[test]
fn a_flag_of_the_wrong_form_is_told_the_right_one() {
    for version in ["foo", "7.4", "7.4.0.1", "7..4.0", "7.4.x"] {
        let told =
            format!("error: invalid value '{version}' for '--redis-version <REDIS_VERSION>': the form is x.y.z, three numbers");
        check(&mut redlet(&["--port", "0", "--redis-version", version]), 2, &told);
    }
    let told = "error: invalid value 'foo' for '--set <NAME=VALUE>': the form is NAME=VALUE";
    check(&mut redlet(&["--port", "0", "--set", "foo"]), 2, told);
}

#[test]
fn a_parameter_that_is_refused_reads_like_a_message_and_not_like_a_reply() {
    let told = "redlet: CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value\n";
    check(&mut redlet(&["--port", "0", "--set", "maxmemory=abc"]), 1, told);
    let told = "redlet: Unknown option or number of arguments for CONFIG SET - 'foo'\n";
    check(&mut redlet(&["--port", "0", "--set", "foo=1"]), 1, told);
}

#[test]
fn numbers_that_would_ask_for_too_much_are_refused() {
    check(&mut redlet(&["--port", "0", "--databases", "0"]), 1, "redlet: databases must be between 1 and 1048576\n");
    check(&mut redlet(&["--port", "0", "--databases", "2000000000"]), 1, "redlet: databases must be between 1 and 1048576\n");
    check(&mut redlet(&["--port", "0", "--threads", "0"]), 1, "redlet: threads must be between 1 and 1024\n");
    check(&mut redlet(&["--port", "0", "--shards", "1000000000"]), 1, "redlet: shards must be between 2 and 65536\n");
}

#[test]
fn fewer_clients_are_promised_where_files_are_few() {
    let mut few_descriptors = Command::new("sh");
    few_descriptors.args(["-c", "ulimit -n 40; exec \"$0\" --port 0 --set foo=1", env!("CARGO_BIN_EXE_redlet")]);
    check(&mut few_descriptors, 1, "redlet: the limit of 40 open files allows 8 clients, not 10000\n");
}

#[test]
fn the_port_is_told_only_by_a_server_that_has_a_thread() {
    let mut few_descriptors = Command::new("sh");
    few_descriptors.args(["-c", "ulimit -n 14; exec \"$0\" --port 0 --maxclients 8", env!("CARGO_BIN_EXE_redlet")]);
    let told = "redlet: the limit of 14 open files allows 1 clients, not 8\nredlet: cannot start a thread with its event loop: ";
    check(&mut few_descriptors, 1, told);
}

#[test]
fn ping_tells_whom_it_asked() {
    // Port 1 is nobody's on a machine that runs tests.
    check(&mut redlet(&["ping", "--port", "1"]), 1, "redlet: no PONG from 127.0.0.1:1: Connection refused");
    check(&mut redlet(&["ping", "--unixsocket", "/nowhere/at/all"]), 1, "redlet: no PONG from /nowhere/at/all: No such file");
}

#[test]
fn ping_gives_up_on_a_server_that_does_not_answer() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("it has an address").port().to_string();
    let told = format!("redlet: no PONG from 127.0.0.1:{port}: no reply within 3 seconds\n");
    check(&mut redlet(&["ping", "--port", &port]), 1, &told);
}
