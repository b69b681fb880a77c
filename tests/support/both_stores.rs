//! Makes each case of a file a test on the embedded store and a test on Redis.

/// `LOCAL, REDIS; CASE in FILE, …`: the first two make what a case gets.
macro_rules! on_both_stores {
    ($local:expr, $redis:expr; $($case:ident in $file:ident),+ $(,)?) => {
        mod local {
            $(#[test]
            fn $case() {
                crate::$file::$case($local);
            })+
        }
        mod redis {
            $(#[test]
            fn $case() {
                crate::$file::$case($redis);
            })+
        }
    };
}
