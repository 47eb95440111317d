//! Cluster mode, as a server without it answers. Clients ask to find out.

use super::{Arg, Args, CommandError, Context, Deprecated, Flags, Group, Outcome, Spec, help};

pub(super) const SPECS: &[&Spec] = &[&CLUSTER, &READONLY, &READWRITE, &ASKING];

fn refuse(_: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    Err(CommandError::text("ERR This instance has cluster support disabled"))
}

const REPORT: Spec = Spec { group: Group::Cluster, since: "3.0.0", flags: Flags::STALE, run: refuse, ..Spec::BASE };

const STEERING_REPORT: Spec = Spec { flags: Flags::ADMIN.and(Flags::STALE), ..REPORT };

const CHANGE: Spec = Spec { flags: Flags::ADMIN.and(Flags::STALE).and(Flags::NO_ASYNC_LOADING), ..REPORT };

const FOR_CONNECTION: Spec = Spec { flags: Flags::LOADING.and(Flags::STALE).and(Flags::FAST).and(Flags::CONNECTION), ..REPORT };

const READONLY: Spec = Spec { name: "readonly", summary: "Would allow reads from a replica.", ..FOR_CONNECTION };

const READWRITE: Spec = Spec { name: "readwrite", summary: "Would allow reads from masters only.", ..FOR_CONNECTION };

const ASKING: Spec = Spec {
    name: "asking",
    summary: "Would allow a request about a hash slot that is on its way here.",
    flags: Flags::FAST.and(Flags::CONNECTION),
    ..REPORT
};

const CLUSTER: Spec = Spec {
    name: "cluster",
    group: Group::Cluster,
    since: "3.0.0",
    summary: "Holds the commands about cluster mode.",
    subcommands: SUBCOMMANDS,
    ..Spec::CONTAINER
};

const UNSTABLE: &[&str] = &["nondeterministic_output"];

const SUBCOMMANDS: &[Spec] = &[
    Spec {
        name: "addslotsrange",
        since: "7.0.0",
        complexity: "O(N) where N is the total number of the slots between the start slot and end slot arguments.",
        summary: "Would take ranges of hash slots.",
        syntax: &[Arg::block("start-slot_end-slot", &[Arg::integer("start-slot"), Arg::integer("end-slot")]).multiple()],
        ..CHANGE
    },
    Spec { group: Group::Cluster, since: "5.0.0", summary: "Would list the subcommands.", run: refuse, ..help::HELP },
    Spec {
        name: "nodes",
        complexity: "O(N) where N is the total number of Cluster nodes",
        summary: "Would describe all nodes, one a line.",
        tips: UNSTABLE,
        ..REPORT
    },
    Spec { name: "info", summary: "Would tell how the cluster is doing.", tips: UNSTABLE, ..REPORT },
    Spec {
        name: "slaves",
        summary: "Would describe a node's replicas.",
        tips: UNSTABLE,
        deprecated: Some(Deprecated { since: "5.0.0", replaced_by: "`CLUSTER REPLICAS`" }),
        syntax: &[Arg::string("node-id")],
        ..STEERING_REPORT
    },
    Spec {
        name: "links",
        since: "7.0.0",
        complexity: "O(N) where N is the total number of Cluster nodes",
        summary: "Would describe this node's connections to others.",
        tips: UNSTABLE,
        ..REPORT
    },
    Spec {
        name: "setslot",
        summary: "Would say to whom a hash slot belongs.",
        syntax: &[
            Arg::integer("slot"),
            Arg::one_of(
                "subcommand",
                &[
                    Arg::string("node-id").with_token("IMPORTING"),
                    Arg::string("node-id").with_token("MIGRATING"),
                    Arg::string("node-id").with_token("NODE"),
                    Arg::token("stable", "STABLE"),
                ],
            ),
        ],
        ..CHANGE
    },
    Spec {
        name: "replicas",
        since: "5.0.0",
        summary: "Would describe a node's replicas.",
        tips: UNSTABLE,
        syntax: &[Arg::string("node-id")],
        ..STEERING_REPORT
    },
    Spec { name: "myid", summary: "Would tell this node's name.", ..REPORT },
    Spec { name: "replicate", summary: "Would make this node a replica of another.", syntax: &[Arg::string("node-id")], ..CHANGE },
    Spec {
        name: "getkeysinslot",
        complexity: "O(log(N)) where N is the number of requested keys",
        summary: "Would name keys of a hash slot.",
        tips: UNSTABLE,
        syntax: &[Arg::integer("slot"), Arg::integer("count")],
        ..REPORT
    },
    Spec {
        name: "meet",
        summary: "Would introduce another node.",
        syntax: &[Arg::string("ip"), Arg::integer("port"), Arg::integer("cluster_bus_port").since("4.0.0").optional()],
        ..CHANGE
    },
    Spec { name: "saveconfig", summary: "Would write the cluster's state to its file.", ..CHANGE },
    Spec {
        name: "delslotsrange",
        since: "7.0.0",
        complexity: "O(N) where N is the total number of the slots between the start slot and end slot arguments.",
        summary: "Would give up ranges of hash slots.",
        syntax: &[Arg::block("start-slot_end-slot", &[Arg::integer("start-slot"), Arg::integer("end-slot")]).multiple()],
        ..CHANGE
    },
    Spec {
        name: "keyslot",
        complexity: "O(N) where N is the number of bytes in the key",
        summary: "Would tell a key's hash slot.",
        syntax: &[Arg::string("key")],
        ..REPORT
    },
    Spec { name: "forget", summary: "Would remove a node.", syntax: &[Arg::string("node-id")], ..CHANGE },
    Spec { name: "set-config-epoch", summary: "Would set a new node's epoch.", syntax: &[Arg::integer("config-epoch")], ..CHANGE },
    Spec { name: "bumpepoch", summary: "Would raise this node's epoch.", tips: UNSTABLE, ..CHANGE },
    Spec {
        name: "delslots",
        complexity: "O(N) where N is the total number of hash slot arguments",
        summary: "Would give up hash slots.",
        syntax: &[Arg::integer("slot").multiple()],
        ..CHANGE
    },
    Spec {
        name: "reset",
        complexity: "O(N) where N is the number of known nodes. The command may execute a FLUSHALL as a side effect.",
        summary: "Would make this node leave the cluster.",
        flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::STALE),
        syntax: &[Arg::one_of("hard_soft", &[Arg::token("hard", "HARD"), Arg::token("soft", "SOFT")]).optional()],
        ..REPORT
    },
    Spec { name: "flushslots", summary: "Would give up all hash slots.", ..CHANGE },
    Spec {
        name: "count-failure-reports",
        complexity: "O(N) where N is the number of failure reports",
        summary: "Would count the reports that a node has failed.",
        tips: UNSTABLE,
        syntax: &[Arg::string("node-id")],
        ..STEERING_REPORT
    },
    Spec {
        name: "shards",
        since: "7.0.0",
        complexity: "O(N) where N is the total number of cluster nodes",
        summary: "Would describe hash slots and their nodes.",
        tips: UNSTABLE,
        ..REPORT
    },
    Spec {
        name: "slots",
        complexity: "O(N) where N is the total number of Cluster nodes",
        summary: "Would describe hash slots and their nodes.",
        tips: UNSTABLE,
        deprecated: Some(Deprecated { since: "7.0.0", replaced_by: "`CLUSTER SHARDS`" }),
        ..REPORT
    },
    Spec {
        name: "addslots",
        complexity: "O(N) where N is the total number of hash slot arguments",
        summary: "Would take hash slots.",
        syntax: &[Arg::integer("slot").multiple()],
        ..CHANGE
    },
    Spec {
        name: "failover",
        summary: "Would make a replica the master.",
        syntax: &[Arg::one_of("options", &[Arg::token("force", "FORCE"), Arg::token("takeover", "TAKEOVER")]).optional()],
        ..CHANGE
    },
    Spec { name: "countkeysinslot", summary: "Would count the keys of a hash slot.", syntax: &[Arg::integer("slot")], ..REPORT },
];
