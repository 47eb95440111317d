//! Where what others send comes between a client's replies, when it has been sent but not collected yet.
//! Conversations without sockets, so that what is under way at a request is known.

use redlet::Config;
use redlet::internals::{Conversation, Output, Shared, Worker};

/// A server, and the thread that serves its connections.
struct Stage {
    shared: Shared,
    worker: Worker,
}

impl Stage {
    fn new() -> Self {
        let shared = Shared::new(Config::default()).expect("the defaults are valid");
        let worker = Worker::new(&shared);
        Self { shared, worker }
    }

    fn connect(&self) -> Conversation {
        Conversation::begin(&self.shared, "127.0.0.1:1".to_owned(), "127.0.0.1:6379".to_owned(), 0).expect("there is room")
    }

    /// Has a client say something, and returns the replies. What has been left for it stays where it is.
    fn say(&mut self, client: &mut Conversation, requests: &str) -> String {
        let mut out = Output::default();
        let requests = requests.replace('\n', "\r\n");
        client.feed(requests.as_bytes(), &mut self.worker, &self.shared, self.shared.clock.now(), &mut out);
        String::from_utf8(out.into()).expect("it is text").replace("\r\n", " ")
    }

    /// What has been left for a client.
    fn left(client: &Conversation) -> String {
        let mut out = Output::default();
        client.session().client.collect(&mut out);
        String::from_utf8(out.into()).expect("it is text").replace("\r\n", " ")
    }
}

/// Has another client publish `one` on the channel `a`, to which a client has subscribed that has begun with `before`; it then says
/// `requests` and hears `expected`, and nothing is left.
#[track_caller]
fn check(before: &str, requests: &str, expected: &str) {
    let mut stage = Stage::new();
    let (mut subscriber, mut publisher) = (stage.connect(), stage.connect());
    stage.say(&mut subscriber, before);
    assert_eq!(stage.say(&mut publisher, "PUBLISH a one\n"), ":1 ");
    assert_eq!(stage.say(&mut subscriber, requests), expected);
    assert_eq!(Stage::left(&subscriber), "");
}

/// `one` on the channel `a`.
const IN_RESP2: &str = "*3 $7 message $1 a $3 one ";
const IN_RESP3: &str = ">3 $7 message $1 a $3 one ";

#[test]
fn a_message_comes_before_the_end_of_its_subscription() {
    let confirmed = &format!("{IN_RESP2}*3 $11 unsubscribe $1 a :0 ");
    check("SUBSCRIBE a\n", "UNSUBSCRIBE a\n", confirmed);
    check("SUBSCRIBE a\n", "UNSUBSCRIBE\n", confirmed);
    check("CLIENT REPLY OFF\nSUBSCRIBE a\n", "UNSUBSCRIBE a\n", confirmed);
    check("PSUBSCRIBE a\n", "PUNSUBSCRIBE\n", "*4 $8 pmessage $1 a $1 a $3 one *3 $12 punsubscribe $1 a :0 ");
}

#[test]
fn a_message_comes_before_the_connection_is_as_new() {
    check("SUBSCRIBE a\n", "RESET\n", &format!("{IN_RESP2}+RESET "));
    check("HELLO 3\nSUBSCRIBE a\n", "RESET\n", &format!("{IN_RESP3}+RESET "));
    check("CLIENT REPLY OFF\nSUBSCRIBE a\n", "RESET\n", &format!("{IN_RESP2}+RESET "));
}

#[test]
fn a_message_is_not_lost_with_the_reply_that_is_not_sent() {
    check("HELLO 3\nSUBSCRIBE a\nCLIENT REPLY OFF\n", "HELLO 2\n", IN_RESP3);
    check("HELLO 3\nSUBSCRIBE a\nCLIENT REPLY SKIP\n", "RESET\n", IN_RESP3);
}

#[test]
fn a_message_comes_in_the_protocol_in_which_the_client_was_when_it_came() {
    let mut stage = Stage::new();
    let (mut subscriber, mut publisher) = (stage.connect(), stage.connect());
    stage.say(&mut subscriber, "HELLO 3\nSUBSCRIBE a\n");
    stage.say(&mut publisher, "PUBLISH a one\n");
    let heard = stage.say(&mut subscriber, "HELLO 2\n");
    assert!(heard.starts_with(&format!("{IN_RESP3}*14 $6 server ")), "{heard}");
    stage.say(&mut publisher, "PUBLISH a one\n");
    assert_eq!(Stage::left(&subscriber), IN_RESP2);
}

#[test]
fn a_message_comes_before_the_transaction_that_ends_its_subscription() {
    let expected = &format!("+OK +QUEUED {IN_RESP3}*1 >3 $11 unsubscribe $1 a :0 ");
    check("HELLO 3\nSUBSCRIBE a\n", "MULTI\nUNSUBSCRIBE a\nEXEC\n", expected);
}

#[test]
fn a_client_hears_its_own_messages_in_the_order_in_which_all_hear_them() {
    let expected = &format!(":1 {IN_RESP3}>3 $7 message $1 a $3 two ");
    check("HELLO 3\nSUBSCRIBE a\n", "PUBLISH a two\n", expected);
}

/// Keys and items in the table of CLIENT TRACKING.
fn tracked(stage: &mut Stage, client: &mut Conversation) -> [usize; 2] {
    let info = stage.say(client, "INFO stats\n");
    ["tracking_total_keys:", "tracking_total_items:"].map(|name| {
        let value = info.split_once(name).and_then(|(_, rest)| rest.split_once(' '));
        value.expect("INFO tells it").0.parse().expect("it is a number")
    })
}

#[test]
fn clients_that_have_gone_are_not_remembered_for_long() {
    let mut stage = Stage::new();
    let mut stays = stage.connect();
    stage.say(&mut stays, "HELLO 3\nCLIENT TRACKING ON\nGET k\n");
    for _ in 0..1000 {
        let mut goes = stage.connect();
        stage.say(&mut goes, "CLIENT TRACKING ON\nGET k\n");
        goes.end(&stage.shared);
    }
    let [keys, items] = tracked(&mut stage, &mut stays);
    assert!(keys == 1 && items <= 8, "{items} items of {keys} keys");
    assert_eq!(stage.say(&mut stays, "SET k v\n"), "+OK >2 $10 invalidate *1 $1 k ");
    let mut clients: Vec<_> = (0..100).map(|_| stage.connect()).collect();
    for client in &mut clients {
        stage.say(client, "CLIENT TRACKING ON\nMGET a b a\n");
    }
    assert_eq!(tracked(&mut stage, &mut stays), [2, 200], "all who stay are");
}

#[test]
fn a_key_too_many_has_one_of_them_forgotten_and_told() {
    let mut stage = Stage::new();
    let mut client = stage.connect();
    stage.say(&mut client, "HELLO 3\nCONFIG SET tracking-table-max-keys 2\nCLIENT TRACKING ON\nMGET a c\n");
    for key in ["b", "d"] {
        let heard = stage.say(&mut client, &format!("GET {key}\n"));
        assert!(heard.starts_with("_ >2 $10 invalidate *1 $1 ") && heard.matches("invalidate").count() == 1, "{heard}");
    }
    assert_eq!(tracked(&mut stage, &mut client), [2, 2]);
}
