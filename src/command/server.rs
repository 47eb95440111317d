//! Placeholder.
pub(super) mod monitor;

use super::Spec;
pub(super) const SPECS: &[&Spec] = &[];
