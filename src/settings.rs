//! The runtime parameters: what `CONFIG GET` answers and `CONFIG SET` changes.
//!
//! The table of parameters says which there are and what each takes. Those that are looked at on the data path or by the socket layer
//! are kept a second time as numbers, so that each look costs one relaxed load. Must not know of commands or connections.

#[cfg(test)]
mod document;
pub mod events;
mod kind;
mod output;
mod parameters;
mod special;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;

pub use kind::Kind;
pub use output::OutputLimit;
pub use parameters::{Effect, PARAMETERS, Parameter, find};

use crate::config::{Config, LogLevel};
use crate::number::parse_i64;
use crate::secret;
use output::OutputLimits;

/// The values of all parameters.
#[derive(Debug)]
pub struct Settings {
    /// By the parameter's place in [`PARAMETERS`], in the form in which `CONFIG GET` answers it. Empty for a second name of another.
    values: RwLock<Vec<Vec<u8>>>,
    password_required: AtomicBool,
    /// `proto-max-bulk-len` in bytes.
    pub bulk_bytes_max: AtomicU64,
    /// `client-query-buffer-limit` in bytes.
    pub query_bytes_max: AtomicU64,
    /// `maxclients`.
    pub maxclients: AtomicU64,
    /// `timeout` in seconds; 0 is never.
    pub timeout_seconds: AtomicU64,
    /// `tcp-keepalive` in seconds; 0 is off.
    pub keepalive_seconds: AtomicU64,
    /// `slowlog-log-slower-than` in microseconds; negative is never.
    pub slowlog_micros: AtomicI64,
    /// `slowlog-max-len`.
    pub slowlog_len_max: AtomicUsize,
    /// `latency-monitor-threshold` in milliseconds; 0 is off.
    pub latency_millis: AtomicU64,
    /// `latency-tracking`: durations are kept for `LATENCY HISTOGRAM`.
    pub latency_tracking: AtomicBool,
    /// Whether `maxmemory-policy` is one of the LFU policies.
    pub lfu: AtomicBool,
    /// Which events of keys are told: letters of `notify-keyspace-events`, see [`events::bit`].
    pub events: AtomicU64,
    output_limits: OutputLimits,
    /// `tracking-table-max-keys`; 0 is no bound.
    pub tracking_keys_max: AtomicUsize,
    /// Whether the sweeper runs: `DEBUG SET-ACTIVE-EXPIRE`.
    pub active_expire: AtomicBool,
}

/// Why `CONFIG SET` changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no parameter of this name.
    Unknown(Vec<u8>),
    /// The parameter of this name does not take the value, or cannot be set.
    Parameter(Vec<u8>, Cow<'static, str>),
}

impl Refused {
    /// The wire text.
    pub fn wire(&self) -> Vec<u8> {
        match self {
            Self::Unknown(name) => {
                let mut text = b"ERR Unknown option or number of arguments for CONFIG SET - '".to_vec();
                text.extend_from_slice(name);
                text.push(b'\'');
                text
            }
            Self::Parameter(name, reason) => {
                let mut text = b"ERR CONFIG SET failed (possibly related to argument '".to_vec();
                text.extend_from_slice(name);
                text.extend_from_slice(format!("') - {reason}").as_bytes());
                text
            }
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let settings = Self {
            values: RwLock::new(PARAMETERS.iter().map(|parameter| parameter.default.as_bytes().to_vec()).collect()),
            password_required: AtomicBool::default(),
            bulk_bytes_max: AtomicU64::default(),
            query_bytes_max: AtomicU64::default(),
            maxclients: AtomicU64::default(),
            timeout_seconds: AtomicU64::default(),
            keepalive_seconds: AtomicU64::default(),
            slowlog_micros: AtomicI64::default(),
            slowlog_len_max: AtomicUsize::default(),
            latency_millis: AtomicU64::default(),
            latency_tracking: AtomicBool::default(),
            lfu: AtomicBool::default(),
            events: AtomicU64::default(),
            output_limits: OutputLimits::default(),
            tracking_keys_max: AtomicUsize::default(),
            active_expire: AtomicBool::new(true),
        };
        for parameter in PARAMETERS {
            settings.take_effect(parameter, parameter.default.as_bytes(), parameter.default.as_bytes());
        }
        settings
    }
}

impl Settings {
    /// The values that a server of this configuration starts with.
    ///
    /// # Errors
    /// A pair of [`Config::parameters`] that `CONFIG SET` would refuse.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let settings = Self::default();
        let bind: Vec<_> = config.bind.iter().map(ToString::to_string).collect();
        settings.keep("bind", bind.join(" "));
        settings.keep("port", config.port.unwrap_or(0).to_string());
        settings.keep("unixsocket", config.unixsocket.as_deref().map(|path| path.display().to_string()).unwrap_or_default());
        settings.keep("loglevel", config.loglevel.name());
        settings.keep("databases", config.databases.to_string());
        settings.keep("io-threads", config.threads.to_string());
        settings.keep("enable-debug-command", config.enable_debug_command.name());
        // One after another: unlike in CONFIG SET, a later pair overrules an earlier one.
        for (name, value) in &config.parameters {
            settings.set(&[(name.as_bytes(), value.as_bytes())])?;
        }
        Ok(settings)
    }

    /// Keeps the value of a parameter that only the start decides.
    fn keep(&self, name: &str, value: impl Into<Vec<u8>>) {
        self.values.write()[place(name)] = value.into();
    }

    /// A parameter's value, in the form in which `CONFIG GET` answers it.
    pub fn get(&self, parameter: &Parameter) -> Vec<u8> {
        self.values.read()[place(parameter.first_name())].clone()
    }

    /// The value of the parameter of this name, which is in the table.
    pub fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.values.read()[place(name)]).into_owned()
    }

    /// Sets parameters by name, all of them or none.
    ///
    /// # Errors
    /// The first reason against it, in Redis's order: names before values.
    pub fn set(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Refused> {
        let mut chosen: Vec<&'static Parameter> = Vec::with_capacity(pairs.len());
        for (name, _) in pairs {
            let parameter = find(name).ok_or_else(|| Refused::Unknown(name.to_vec()))?;
            // Redis repeats a name as it was sent, but once the names are checked it has words of its own for it.
            let refuse = |reason: &'static str| Err(Refused::Parameter(name.to_vec(), reason.into()));
            if let Some(reason) = parameter.unsettable() {
                return refuse(reason);
            }
            if chosen.iter().any(|earlier| earlier.name == parameter.name) {
                return refuse("duplicate parameter");
            }
            chosen.push(parameter);
        }
        let mut values = self.values.write();
        let mut changed = values.clone();
        for (parameter, (_, value)) in chosen.iter().zip(pairs) {
            let place = place(parameter.first_name());
            changed[place] = parameter
                .kind()
                .accept(&changed[place], value)
                .map_err(|reason| Refused::Parameter(parameter.name.as_bytes().to_vec(), reason))?;
        }
        for (parameter, (_, given)) in chosen.iter().zip(pairs) {
            let first = parameter.first_name();
            self.take_effect(&PARAMETERS[place(first)], &changed[place(first)], given);
        }
        *values = changed;
        Ok(())
    }

    /// Lets a value act, if its parameter acts while the server runs. It was `given` in a form that may say more than the one kept.
    fn take_effect(&self, parameter: &Parameter, value: &[u8], given: &[u8]) {
        let number = || parse_i64(value).unwrap_or_default();
        let count = || u64::try_from(number()).unwrap_or_default();
        match parameter.effect {
            Effect::None | Effect::AtStart | Effect::LookedUp | Effect::Log => {}
            Effect::Count(field) => field(self).store(count(), Ordering::Relaxed),
            Effect::Number(field) => field(self).store(number(), Ordering::Relaxed),
            Effect::Length(field) => field(self).store(usize::try_from(count()).unwrap_or(usize::MAX), Ordering::Relaxed),
            Effect::Switch(field) => field(self).store(value == b"yes", Ordering::Relaxed),
            Effect::Password => self.password_required.store(!value.is_empty(), Ordering::Release),
            Effect::OutputLimits => self.output_limits.set(value),
            Effect::Events => self.events.store(events::mask(given), Ordering::Relaxed),
            Effect::Policy => self.lfu.store(value.ends_with(b"-lfu"), Ordering::Relaxed),
        }
    }

    /// `loglevel`, which the log keeps for itself.
    pub fn loglevel(&self) -> LogLevel {
        let name = self.text("loglevel");
        LogLevel::ALL.into_iter().find(|level| level.name() == name).unwrap_or(LogLevel::Notice)
    }

    /// How much may wait for a client that has subscribed to something, or for any other.
    pub fn output_limit(&self, is_subscriber: bool) -> OutputLimit {
        self.output_limits.of(is_subscriber)
    }

    /// Whether a new connection must authenticate.
    pub fn password_required(&self) -> bool {
        self.password_required.load(Ordering::Acquire)
    }

    /// Whether `password` is the required one. How long it takes tells nothing about the required one.
    pub fn password_is(&self, password: &[u8]) -> bool {
        secret::is_same(&self.values.read()[place("requirepass")], password)
    }
}

/// Where the parameter of this name stands in the table. The name is one that the program itself wrote.
fn place(name: &str) -> usize {
    PARAMETERS
        .binary_search_by(|parameter| parameter.name.cmp(name))
        .unwrap_or_else(|_| unreachable!("a parameter that the program names is in the table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &Settings, name: &str, value: &str) -> Result<String, String> {
        settings
            .set(&[(name.as_bytes(), value.as_bytes())])
            .map(|()| settings.text(find(name.as_bytes()).expect("the name was found before").first_name()))
            .map_err(|refused| String::from_utf8_lossy(&refused.wire()).into_owned())
    }

    #[track_caller]
    fn check(name: &str, value: &str, kept: &str) {
        assert_eq!(set(&Settings::default(), name, value).as_deref(), Ok(kept), "{name} {value}");
    }

    #[track_caller]
    fn check_refused(name: &str, value: &str, reason: &str) {
        let text = format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}");
        assert_eq!(set(&Settings::default(), name, value), Err(text), "{name} {value}");
    }

    #[test]
    fn values_are_kept_in_redis_form() {
        check("maxmemory", "1KB", "1024");
        check("maxmemory", "99999999999999999999999gb", "18446744072635809792");
        check("maxmemory-clients", "10%", "10%");
        check("maxmemory-clients", "2mb", "2097152");
        check("notify-keyspace-events", "KEA", "AKE");
        check("notify-keyspace-events", "K$lshzxetdmn", "$lshzxetdnKm");
        check("save", "900 1 300 10", "900 1 300 10");
        check("client-output-buffer-limit", "pubsub 1k 2k 3 replica 5 5 5", "normal 0 0 0 slave 5 5 5 pubsub 1000 2000 3");
        for (given, kept) in [
            ("99.99 1e1", "99.99 10"),
            ("", ""),
            ("-0 +5 .5 5.", "-0 5 0.5 5"),
            ("0x10 1e-7 99.9999999 0.1 0.1", "16 0 100 0.1 0.1"),
        ] {
            check("latency-tracking-info-percentiles", given, kept);
        }
        check("hz", "100000", "500");
        check("rdbcompression", "NO", "no");
        check("appendfsync", "ALWAYS", "always");
        check("slave-priority", "7", "7");
    }

    #[test]
    fn wrong_values_are_refused_in_redis_words() {
        check_refused("timeout", "05", "argument couldn't be parsed into an integer");
        check_refused("timeout", "-1", "argument must be between 0 and 2147483647 inclusive");
        check_refused("proto-max-bulk-len", "1", "argument must be between 1048576 and 9223372036854775807 inclusive");
        check_refused("maxmemory", "1 kb", "argument must be a memory value");
        check_refused("maxmemory-clients", "101%", "percentage argument must be less or equal to 100");
        check_refused("save", "  900  1 ", "Invalid save parameters");
        check_refused("oom-score-adj-values", "1 2", "wrong number of arguments");
        check_refused("proc-title-template", "{foo}", "template format is invalid or contains unknown variables");
        for given in [" ", " 5", "5 ", "5  6", "5x", "nan", "1e400", "1e-400 5"] {
            check_refused("latency-tracking-info-percentiles", given, "Invalid latency-tracking-info-percentiles parameters");
        }
        for given in ["100.1", "-1", "inf", "-inf"] {
            let reason = "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
            check_refused("latency-tracking-info-percentiles", given, reason);
        }
        check_refused("databases", "3", "can't set immutable config");
        check_refused("dir", "/", "can't set protected config");
    }

    #[test]
    fn all_pairs_are_set_or_none() {
        let settings = Settings::default();
        let pairs: [(&[u8], &[u8]); 2] = [(b"timeout", b"5"), (b"hz", b"x")];
        assert!(settings.set(&pairs).is_err());
        assert_eq!(settings.text("timeout"), "0");
        assert_eq!(settings.timeout_seconds.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_has_an_effect_acts() {
        let settings = Settings::default();
        assert_eq!(settings.bulk_bytes_max.load(Ordering::Relaxed), 512 * 1024 * 1024);
        let pairs: [(&[u8], &[u8]); 3] =
            [(b"requirepass", b"secret"), (b"maxmemory-policy", b"allkeys-LFU"), (b"maxclients", b"3")];
        assert_eq!(settings.set(&pairs), Ok(()));
        assert!(settings.password_required() && settings.password_is(b"secret") && !settings.password_is(b"secreT"));
        assert!(settings.lfu.load(Ordering::Relaxed));
        assert_eq!(settings.maxclients.load(Ordering::Relaxed), 3);
    }
}
