//! How a client tracks what it reads: `CLIENT TRACKING` and `CLIENT CACHING`.

/// The options that it has chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tracked(u8);

impl Tracked {
    const ON: u8 = 1;
    /// It is told of keys by their beginnings, read or not.
    pub const BCAST: u8 = 1 << 1;
    /// Only what it says is remembered.
    pub const OPTIN: u8 = 1 << 2;
    /// All but what it says is remembered.
    pub const OPTOUT: u8 = 1 << 3;
    /// It is not told what it has changed itself.
    pub const NOLOOP: u8 = 1 << 4;
    /// `CLIENT CACHING` was said of the next request.
    const CACHING: u8 = 1 << 5;

    /// Begins, or begins anew in another way. What CLIENT CACHING has said still holds.
    pub fn begin(&mut self, bcast: bool, optin: bool, optout: bool, noloop: bool) {
        let chosen = [(bcast, Self::BCAST), (optin, Self::OPTIN), (optout, Self::OPTOUT), (noloop, Self::NOLOOP)];
        let chosen = chosen.into_iter().filter(|(is_chosen, _)| *is_chosen).fold(0, |flags, (_, flag)| flags | flag);
        self.0 = Self::ON | (self.0 & Self::CACHING) | chosen;
    }

    /// Whether it tracks.
    pub fn is_on(self) -> bool {
        self.has(Self::ON)
    }

    /// Whether an option is chosen.
    pub fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    /// Whether CLIENT CACHING was said of the request being run.
    pub fn is_caching(self) -> bool {
        self.has(Self::CACHING)
    }

    /// CLIENT CACHING is said, or its request is over.
    pub fn set_caching(&mut self, on: bool) {
        self.0 = if on { self.0 | Self::CACHING } else { self.0 & !Self::CACHING };
    }

    /// Whether the keys that the request being run reads are to be remembered.
    pub fn remembers(self) -> bool {
        let is_left_out = if self.has(Self::OPTIN) { !self.is_caching() } else { self.has(Self::OPTOUT) && self.is_caching() };
        self.is_on() && !self.has(Self::BCAST) && !is_left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_depends_on_the_mode_and_on_what_was_said() {
        for (mode, without, with) in [("", true, true), ("optin", false, true), ("optout", true, false), ("bcast", false, false)] {
            let mut tracked = Tracked::default();
            assert!(!tracked.remembers(), "it is off");
            tracked.begin(mode == "bcast", mode == "optin", mode == "optout", false);
            assert_eq!(tracked.remembers(), without, "{mode}");
            tracked.set_caching(true);
            assert_eq!(tracked.remembers(), with, "{mode} and CLIENT CACHING");
        }
    }
}
