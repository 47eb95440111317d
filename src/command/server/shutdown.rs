//! `SHUTDOWN`.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec};

pub(super) const SHUTDOWN: Spec = Spec {
    name: "shutdown",
    group: Group::Server,
    complexity: "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise O(1)",
    summary: "Ends the server.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::LOADING).and(Flags::STALE).and(Flags::NO_MULTI).and(Flags::ALLOW_BUSY),
    syntax: &[
        Arg::one_of("nosave_save", &[Arg::token("nosave", "NOSAVE"), Arg::token("save", "SAVE")]).optional(),
        Arg::token("now", "NOW").since("7.0.0").optional(),
        Arg::token("force", "FORCE").since("7.0.0").optional(),
        Arg::token("abort", "ABORT").since("7.0.0").optional(),
    ],
    run: shutdown,
    ..Spec::BASE
};
const _: () = assert!(SHUTDOWN.arity(false) == -1);

fn shutdown(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let [mut save, mut nosave, mut now, mut force, mut abort] = [false; 5];
    while let Some(word) = args.keyword() {
        match &*word {
            b"NOSAVE" => nosave = true,
            b"SAVE" => save = true,
            b"NOW" => now = true,
            b"FORCE" => force = true,
            b"ABORT" => abort = true,
            _ => return Err(CommandError::Syntax),
        }
    }
    if save && nosave || abort && (save || nosave || now || force) {
        return Err(CommandError::Syntax);
    }
    if abort {
        return Err(CommandError::text("ERR No shutdown in progress."));
    }
    if save && !force {
        cx.shared.log.warning("SHUTDOWN SAVE is refused: there is nothing to save to");
        return Err(CommandError::text("ERR Errors trying to SHUTDOWN. Check logs."));
    }
    cx.shared.stop();
    cx.session.closing = true;
    Ok(())
}
