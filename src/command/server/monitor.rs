//! MONITOR: a client watches what all others do.

use crate::command::{Args, Context, Flags, Group, Outcome, Spec};

pub(in crate::command) const SPECS: &[&Spec] = &[&MONITOR];

const MONITOR: Spec = Spec {
    name: "monitor",
    group: Group::Server,
    complexity: "",
    summary: "Shows this connection every command that the server runs from here on.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::LOADING).and(Flags::STALE),
    run: monitor,
    ..Spec::BASE
};
const _: () = assert!(MONITOR.arity(false) == 1);

fn monitor(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    // Who watches already is not answered, as Redis has it.
    if !cx.session.monitor {
        cx.session.monitor = true;
        cx.shared.clients.begin_monitor(&cx.session.client);
        cx.reply.ok();
    }
    Ok(())
}
