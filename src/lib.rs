//! redlet.
