//! Connections: what a client says about itself and asks about others.

use super::{Arg, Args, Context, Flags, Group, Outcome, Spec};

pub(super) const SPECS: &[&Spec] = &[&PING];

const PING: Spec = Spec {
    name: "ping",
    group: Group::Connection,
    summary: "Answers PONG, or with the message it was given.",
    flags: Flags::FAST,
    syntax: &[Arg::string("message").optional()],
    run: ping,
    ..Spec::BASE
};

fn ping(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    match args.next() {
        Some(message) => cx.reply.bulk(message),
        None => cx.reply.simple("PONG"),
    }
    Ok(())
}
