//! Transactions. Nothing can be watched yet, so there is only what connection pools say when they take a connection back.

use super::{Args, Context, Flags, Group, Outcome, Spec};

pub(super) const SPECS: &[&Spec] = &[&UNWATCH];

const UNWATCH: Spec = Spec {
    name: "unwatch",
    group: Group::Transactions,
    since: "2.2.0",
    summary: "Forgets the keys that this connection watches.",
    flags: Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE).and(Flags::FAST).and(Flags::ALLOW_BUSY),
    run: unwatch,
    ..Spec::BASE
};
const _: () = assert!(UNWATCH.arity(false) == 1);

fn unwatch(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.ok();
    Ok(())
}
