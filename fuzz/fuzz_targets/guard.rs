#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| solocron::run::fuzz_request(bytes));
