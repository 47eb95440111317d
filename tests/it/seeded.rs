//! Runs property tests from a seed that is fixed, printed when a test fails, and taken from `REDLET_TEST_SEED` when that is set.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

const SEED: u64 = 20_260_101;

/// Tries `test` with `cases` values of `strategy`.
#[track_caller]
pub fn check<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let seed = match std::env::var("REDLET_TEST_SEED") {
        Ok(seed) => seed.parse().expect("REDLET_TEST_SEED is a number of 64 bits"),
        Err(_) => SEED,
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    if let Err(failure) = runner.run(&strategy, test) {
        panic!("REDLET_TEST_SEED={seed}: {failure}");
    }
}
