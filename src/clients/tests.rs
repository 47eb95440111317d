//! Connections as others see them.

use super::*;

#[test]
fn a_pause_is_neither_cut_short_nor_weakened() {
    let clients = Clients::default();
    let at = UnixMillis;
    clients.pause(at(200), true, at(100));
    clients.pause(at(150), false, at(100));
    assert_eq!(clients.paused(false, at(199)), Some(at(200)), "the later end, and reads as well");
    clients.pause(at(300), true, at(110));
    assert_eq!(clients.paused(false, at(299)), Some(at(300)), "a pause of writes does not let reads through");
    assert_eq!(clients.paused(true, at(300)), None, "over at its end");
    clients.pause(at(400), true, at(300));
    assert_eq!(clients.paused(false, at(350)), None, "what is over leaves nothing behind");
    assert_eq!(clients.paused(true, at(350)), Some(at(400)));
    clients.unpause();
    assert_eq!(clients.paused(true, at(350)), None);
}

#[track_caller]
fn check_origin(addr: &str, flags: u32, shown: &str) {
    let client = Clients::default().add(addr.to_owned(), addr.to_owned(), flags, UnixMillis(0));
    assert_eq!(client.origin(), shown);
}

#[test]
fn a_unix_socket_is_shown_by_its_path() {
    check_origin("/run/redlet.sock:0", Client::UNIX_SOCKET, "unix:/run/redlet.sock");
    check_origin("127.0.0.1:50", 0, "127.0.0.1:50");
    check_origin("[::1]:0", 0, "[::1]:0");
}

#[test]
fn a_wait_is_ended_once() {
    let client = Clients::default().add("a".to_owned(), "b".to_owned(), 0, UnixMillis(0));
    assert!(!client.unblock(Unblock::Error), "it does not wait");
    client.begin_wait();
    assert_eq!(client.end_wait(false), None, "it goes on");
    assert!(client.unblock(Unblock::Error));
    assert!(!client.unblock(Unblock::Timeout), "it was ended already");
    assert_eq!(client.end_wait(false), Some(Some(Unblock::Error)));
    client.begin_wait();
    assert_eq!(client.end_wait(true), Some(None), "its time has come");
    assert!(!client.unblock(Unblock::Error), "it is over");
}

#[test]
fn what_a_client_sends_itself_comes_behind_what_others_have_sent_it() {
    let clients = Clients::default();
    let new = || clients.add(String::new(), String::new(), 0, UnixMillis(0));
    let (one, other) = (new(), new());
    let settings = Settings::default();
    let posts = [Post::default(), Post::default()];
    let senders = [0, 1].map(|at| Sender { post: &posts[at], settings: &settings, now: UnixMillis(1) });
    posts[0].begin(one.id);
    posts[1].begin(other.id);
    for (sender, text) in senders.iter().rev().zip(["+1\r\n", "+2\r\n"]) {
        let message = Output::from(text.as_bytes().to_vec());
        [&one, &other].into_iter().for_each(|client| sender.deliver(client, &message));
    }
    for client in [&one, &other] {
        let mut heard = Output::default();
        client.collect(&mut heard);
        assert_eq!(Vec::from(heard), b"+1\r\n+2\r\n", "as the other one hears it");
    }
    assert!(posts.iter().all(|post| post.take_own() && !post.take_own()), "both have been told that they were sent something");
}

#[test]
fn what_a_client_sends_itself_is_bounded_as_what_others_send_it() {
    let clients = Clients::default();
    let client = clients.add(String::new(), String::new(), 0, UnixMillis(0));
    let (post, settings) = (Post::default(), Settings::default());
    post.begin(client.id);
    let sender = Sender { post: &post, settings: &settings, now: UnixMillis(1) };
    let message = Output::from(vec![b'x'; 1024 * 1024]);
    (0..32).for_each(|_| sender.deliver(&client, &message));
    assert!(!client.is_killed(), "as much as may wait");
    (0..32).for_each(|_| sender.deliver(&client, &message));
    let mut heard = Output::default();
    client.collect(&mut heard);
    assert_eq!((client.is_killed(), heard.len()), (true, 0), "it is cut off, and what it was sent is gone");
}
