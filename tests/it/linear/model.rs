//! The keyspace as one would write it without threads: a handful of keys in two databases, and what each command answers.
//! Knows nothing of the server; replies are compared byte for byte.

use crate::frame;

/// The keys that histories are about. Few, so that clients meet.
pub(crate) const KEYS: [&str; 3] = ["a", "b", "c"];
const DATABASES: usize = 2;
const NO_SUCH_KEY: &[u8] = b"-ERR no such key\r\n";

/// A key, by its place in [`KEYS`].
pub(crate) type Key = usize;

/// What is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    databases: [[Option<Vec<u8>>; KEYS.len()]; DATABASES],
}

/// Numbers that look random and are the same for the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed >> 33) % end as u64).expect("it is below a usize")
    }
}

/// One command, or a transaction of several. Clients stay in database 0; what is in database 1 comes and goes with MOVE, COPY and SWAPDB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Get(Key),
    Set(Key, u8),
    Incr(Key),
    Append(Key, u8),
    GetSet(Key, u8),
    GetDel(Key),
    SetNx(Key, u8),
    Strlen(Key),
    Del(Vec<Key>),
    Exists(Vec<Key>),
    MGet(Vec<Key>),
    MSet(Vec<(Key, u8)>),
    MSetNx(Vec<(Key, u8)>),
    Rename(Key, Key),
    RenameNx(Key, Key),
    /// From, to, whether into database 1, whether to replace.
    Copy(Key, Key, bool, bool),
    Move(Key),
    SwapDb,
    FlushAll,
    DbSize,
    Keys,
    /// Only whether there is a key.
    RandomKey,
    /// A deadline that has passed already.
    Expire(Key),
    /// A value whose deadline has passed already.
    SetExpired(Key, u8),
    /// MULTI, these, and EXEC. None of them is a transaction itself.
    Transaction(Vec<Op>),
}

impl Op {
    /// Some command or transaction.
    pub(crate) fn random(dice: &mut Dice) -> Self {
        match dice.below(8) {
            0 => Self::Transaction((0..2 + dice.below(3)).map(|_| Self::command(dice)).collect()),
            _ => Self::command(dice),
        }
    }

    /// Some command; most of them concern several keys.
    pub(crate) fn command(dice: &mut Dice) -> Self {
        let key = |dice: &mut Dice| dice.below(KEYS.len());
        let value = |dice: &mut Dice| b'1' + u8::try_from(dice.below(9)).expect("a digit");
        let keys = |dice: &mut Dice| -> Vec<Key> { (0..2 + dice.below(2)).map(|_| key(dice)).collect() };
        let pairs = |dice: &mut Dice| -> Vec<(Key, u8)> {
            let digit = value(dice);
            let skipped = dice.below(KEYS.len() + 1);
            (0..KEYS.len()).filter(|key| *key != skipped).map(|key| (key, digit)).collect()
        };
        match dice.below(73) {
            0..6 => Self::Get(key(dice)),
            6..10 => Self::Set(key(dice), value(dice)),
            10..14 => Self::Incr(key(dice)),
            14..17 => Self::Append(key(dice), value(dice)),
            17..19 => Self::GetSet(key(dice), value(dice)),
            19..21 => Self::GetDel(key(dice)),
            21..23 => Self::SetNx(key(dice), value(dice)),
            23 => Self::Strlen(key(dice)),
            24..28 => Self::Del(keys(dice)),
            28..31 => Self::Exists(keys(dice)),
            31..39 => Self::MGet(vec![0, 1, 2]),
            39..45 => Self::MSet(pairs(dice)),
            45..48 => Self::MSetNx(pairs(dice)),
            48..52 => Self::Rename(key(dice), key(dice)),
            52..54 => Self::RenameNx(key(dice), key(dice)),
            54..57 => {
                let (from, other) = (key(dice), dice.below(2) == 1);
                // The same key of the same database is refused, whatever is stored.
                let to = if other { key(dice) } else { (from + 1 + dice.below(KEYS.len() - 1)) % KEYS.len() };
                Self::Copy(from, to, other, dice.below(2) == 1)
            }
            57..59 => Self::Move(key(dice)),
            59 => Self::SwapDb,
            60 => Self::FlushAll,
            61..66 => Self::DbSize,
            66 | 67 => Self::RandomKey,
            68 => Self::Expire(key(dice)),
            69 => Self::SetExpired(key(dice), value(dice)),
            _ => Self::Keys,
        }
    }

    /// The words that the client says.
    fn words(&self) -> Vec<String> {
        let name = |key: &Key| KEYS[*key].to_owned();
        let digit = |digit: &u8| char::from(*digit).to_string();
        let (command, rest): (&str, Vec<String>) = match self {
            Self::Get(key) => ("GET", vec![name(key)]),
            Self::Set(key, value) => ("SET", vec![name(key), digit(value)]),
            Self::Incr(key) => ("INCR", vec![name(key)]),
            Self::Append(key, value) => ("APPEND", vec![name(key), digit(value)]),
            Self::GetSet(key, value) => ("GETSET", vec![name(key), digit(value)]),
            Self::GetDel(key) => ("GETDEL", vec![name(key)]),
            Self::SetNx(key, value) => ("SETNX", vec![name(key), digit(value)]),
            Self::Strlen(key) => ("STRLEN", vec![name(key)]),
            Self::Del(keys) => ("DEL", keys.iter().map(name).collect()),
            Self::Exists(keys) => ("EXISTS", keys.iter().map(name).collect()),
            Self::MGet(keys) => ("MGET", keys.iter().map(name).collect()),
            Self::MSet(pairs) => ("MSET", pairs.iter().flat_map(|(key, value)| [name(key), digit(value)]).collect()),
            Self::MSetNx(pairs) => ("MSETNX", pairs.iter().flat_map(|(key, value)| [name(key), digit(value)]).collect()),
            Self::Rename(from, to) => ("RENAME", vec![name(from), name(to)]),
            Self::RenameNx(from, to) => ("RENAMENX", vec![name(from), name(to)]),
            Self::Copy(from, to, other, replace) => {
                let db = ["DB".to_owned(), if *other { "1" } else { "0" }.to_owned()];
                let replace = replace.then(|| "REPLACE".to_owned());
                ("COPY", [name(from), name(to)].into_iter().chain(db).chain(replace).collect())
            }
            Self::Move(key) => ("MOVE", vec![name(key), "1".to_owned()]),
            Self::SwapDb => ("SWAPDB", vec!["0".to_owned(), "1".to_owned()]),
            Self::FlushAll => ("FLUSHALL", vec![]),
            Self::DbSize => ("DBSIZE", vec![]),
            Self::Keys => ("KEYS", vec!["*".to_owned()]),
            Self::RandomKey => ("RANDOMKEY", vec![]),
            Self::Expire(key) => ("PEXPIREAT", vec![name(key), "1".to_owned()]),
            Self::SetExpired(key, value) => ("SET", vec![name(key), digit(value), "PXAT".to_owned(), "1".to_owned()]),
            Self::Transaction(_) => unreachable!("its commands are said one by one"),
        };
        std::iter::once(command.to_owned()).chain(rest).collect()
    }

    /// The requests on the wire: as many as [`Self::replies`].
    pub(crate) fn request(&self) -> Vec<u8> {
        if let Self::Transaction(ops) = self {
            return [b"MULTI\r\n".to_vec(), ops.iter().flat_map(Self::request).collect(), b"EXEC\r\n".to_vec()].concat();
        }
        let words = self.words();
        let bulks = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
        std::iter::once(format!("*{}\r\n", words.len())).chain(bulks).collect::<String>().into_bytes()
    }

    /// How many replies there are. The last of them says what came of it.
    pub(crate) fn replies(&self) -> usize {
        if let Self::Transaction(ops) = self { ops.len() + 2 } else { 1 }
    }

    /// A reply in the form in which the model gives it: the order of KEYS says nothing, nor does the choice of RANDOMKEY.
    pub(crate) fn normal(&self, reply: &[u8]) -> Vec<u8> {
        let header = reply.windows(2).position(|pair| pair == b"\r\n").map_or(reply.len(), |end| end + 2);
        match self {
            Self::Keys => {
                let mut names: Vec<_> = reply[header..].chunks(bulk(b"a").len()).collect();
                names.sort_unstable();
                [&reply[..header], &names.concat()].concat()
            }
            Self::RandomKey => reply[..header].to_vec(),
            Self::Transaction(ops) => {
                let mut at = header;
                let normal = ops.iter().map(|op| {
                    let (len, _) = frame::decode(&reply[at..]).ok().flatten().expect("a reply to each command");
                    at += len;
                    op.normal(&reply[at - len..at])
                });
                [reply[..header].to_vec(), normal.collect::<Vec<_>>().concat()].concat()
            }
            _ => reply.to_vec(),
        }
    }

    /// Does it, and says what is answered.
    pub(crate) fn apply(&self, state: &mut State) -> Vec<u8> {
        if let Self::Transaction(ops) = self {
            return array(ops.iter().map(|op| op.apply(state)));
        }
        let [db, other] = &mut state.databases;
        match self {
            Self::Get(key) => bulk_or_null(db[*key].as_deref()),
            Self::Set(key, value) => {
                db[*key] = Some(vec![*value]);
                ok()
            }
            Self::Incr(key) => incr(&mut db[*key]),
            Self::Append(key, value) => {
                let bytes = db[*key].get_or_insert_default();
                bytes.push(*value);
                int(bytes.len())
            }
            Self::GetSet(key, value) => bulk_or_null(db[*key].replace(vec![*value]).as_deref()),
            Self::GetDel(key) => bulk_or_null(db[*key].take().as_deref()),
            Self::SetNx(key, value) => put(&mut db[*key], Some(vec![*value]), false),
            Self::Strlen(key) => int(db[*key].as_ref().map_or(0, Vec::len)),
            Self::Del(keys) => int(keys.iter().filter(|key| db[**key].take().is_some()).count()),
            Self::Exists(keys) => int(keys.iter().filter(|key| db[**key].is_some()).count()),
            Self::MGet(keys) => array(keys.iter().map(|key| bulk_or_null(db[*key].as_deref()))),
            Self::MSet(pairs) => {
                pairs.iter().for_each(|(key, value)| db[*key] = Some(vec![*value]));
                ok()
            }
            Self::MSetNx(pairs) => {
                let free = pairs.iter().all(|(key, _)| db[*key].is_none());
                pairs.iter().filter(|_| free).for_each(|(key, value)| db[*key] = Some(vec![*value]));
                int(usize::from(free))
            }
            Self::Rename(from, to) => rename(db, *from, *to, true),
            Self::RenameNx(from, to) => rename(db, *from, *to, false),
            Self::Copy(from, to, elsewhere, replace) => {
                let value = db[*from].clone();
                put(if *elsewhere { &mut other[*to] } else { &mut db[*to] }, value, *replace)
            }
            Self::Move(key) => {
                let moves = db[*key].is_some() && other[*key].is_none();
                if moves {
                    other[*key] = db[*key].take();
                }
                int(usize::from(moves))
            }
            Self::SwapDb => {
                state.databases.swap(0, 1);
                ok()
            }
            Self::FlushAll => {
                *state = State::default();
                ok()
            }
            Self::DbSize => int(db.iter().flatten().count()),
            Self::RandomKey if db.iter().any(Option::is_some) => b"$1\r\n".to_vec(),
            Self::RandomKey => bulk_or_null(None),
            Self::Expire(key) => int(usize::from(db[*key].take().is_some())),
            Self::SetExpired(key, _) => {
                db[*key] = None;
                ok()
            }
            Self::Transaction(_) => unreachable!("it was done before"),
            Self::Keys => array((0..KEYS.len()).filter(|key| db[*key].is_some()).map(|key| bulk(KEYS[key].as_bytes()))),
        }
    }
}

/// Puts a value that is there where none is, or where one may be replaced.
fn put(place: &mut Option<Vec<u8>>, value: Option<Vec<u8>>, replace: bool) -> Vec<u8> {
    let does = value.is_some() && (replace || place.is_none());
    if does {
        *place = value;
    }
    int(usize::from(does))
}

/// Gives a value that is there another name, under which another may be replaced.
fn rename(db: &mut [Option<Vec<u8>>], from: Key, to: Key, replace: bool) -> Vec<u8> {
    if db[from].is_none() {
        return NO_SUCH_KEY.to_vec();
    }
    let does = replace || db[to].is_none();
    if does {
        let value = db[from].take();
        db[to] = value;
    }
    if replace { ok() } else { int(usize::from(does)) }
}

fn incr(place: &mut Option<Vec<u8>>) -> Vec<u8> {
    let number = place.as_ref().map_or(Ok(0), |bytes| String::from_utf8_lossy(bytes).parse::<i64>());
    // Values are digits without a leading zero, so only their length can keep them from being numbers.
    let Ok(number) = number else {
        return b"-ERR value is not an integer or out of range\r\n".to_vec();
    };
    *place = Some((number + 1).to_string().into_bytes());
    format!(":{}\r\n", number + 1).into_bytes()
}

fn ok() -> Vec<u8> {
    b"+OK\r\n".to_vec()
}

fn int(n: usize) -> Vec<u8> {
    format!(":{n}\r\n").into_bytes()
}

fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn bulk_or_null(bytes: Option<&[u8]>) -> Vec<u8> {
    bytes.map_or_else(|| b"$-1\r\n".to_vec(), bulk)
}

fn array(items: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let items: Vec<_> = items.collect();
    [format!("*{}\r\n", items.len()).into_bytes(), items.concat()].concat()
}
