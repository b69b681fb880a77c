#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| solocron::store::fuzz::answer(bytes));
