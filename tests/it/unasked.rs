//! What others send comes before the answer behind which they send nothing more, or send it otherwise.

use redlet::Config;
use redlet::internals::{Conversation, Output, Shared, Worker};

/// Feeds inline requests, separated by commas, to one conversation. What its socket would write.
fn feed(conversation: &mut Conversation, requests: &str, shared: &Shared, worker: &mut Worker) -> String {
    let mut out = Output::default();
    let input = requests.replace(", ", "\r\n") + "\r\n";
    conversation.feed(input.as_bytes(), worker, shared, shared.clock.now(), &mut out);
    conversation.session().client.collect(&mut out);
    String::from_utf8(out.into()).expect("all of it is text")
}

/// What a client hears behind its requests `before` when a message is published and it then sends those in `behind`.
fn heard(before: &str, behind: &str) -> String {
    let shared = Shared::new(Config::default()).expect("the parameters exist");
    let mut worker = Worker::new(&shared);
    let [mut one, mut other] =
        [1, 2].map(|_| Conversation::begin(&shared, String::new(), String::new(), 0).expect("there is room"));
    feed(&mut one, before, &shared, &mut worker);
    feed(&mut other, "PUBLISH c text", &shared, &mut worker);
    feed(&mut one, behind, &shared, &mut worker)
}

#[test]
fn messages_come_before_the_answer_that_ends_them() {
    const RESP2: &str = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\ntext\r\n";
    const RESP3: &str = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\ntext\r\n";
    let cases = [
        ("SUBSCRIBE c", "UNSUBSCRIBE c, PING", RESP2, "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n+PONG\r\n"),
        ("SUBSCRIBE c", "UNSUBSCRIBE, PING", RESP2, "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n+PONG\r\n"),
        ("SUBSCRIBE c", "RESET, PING", RESP2, "+RESET\r\n+PONG\r\n"),
        ("HELLO 3, SUBSCRIBE c", "CLIENT REPLY SKIP, RESET, PING", RESP3, "+PONG\r\n"),
        ("HELLO 3, SUBSCRIBE c", "HELLO 2", RESP3, "*14\r\n"),
        ("HELLO 3, SUBSCRIBE c", "CLIENT REPLY SKIP, HELLO 2, UNSUBSCRIBE", RESP3, "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n"),
        (
            "HELLO 3, SUBSCRIBE c, MULTI, UNSUBSCRIBE",
            "EXEC, PING",
            RESP3,
            "*1\r\n>3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n+PONG\r\n",
        ),
        ("HELLO 3, SUBSCRIBE c, MULTI, HELLO 2", "EXEC", RESP3, "*1\r\n*14\r\n"),
    ];
    for (before, behind, message, answer) in cases {
        let heard = heard(before, behind);
        assert!(heard.starts_with(&format!("{message}{answer}")), "{before} / {behind}: {heard:?}");
        assert_eq!(heard.matches(message).count(), 1, "{before} / {behind}: {heard:?}");
    }
}
