#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| solocron::fuzz::jobs_toml(bytes));
