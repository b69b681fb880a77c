//! Notes when this machine, or this program with all its proxies, stood still by itself: what is due then is late without a
//! fault of anybody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::pause::pause;
use crate::world::now_ms;

/// How often it looks at the clock.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Who looks later than this was held up.
const HELD_UP_MS: i64 = 500;

/// Somebody who watches until the value ends.
pub(crate) struct Watchman {
    is_over: Arc<AtomicBool>,
    watching: Option<JoinHandle<Vec<(i64, i64)>>>,
}

impl Watchman {
    pub(crate) fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let watching = std::thread::spawn(move || {
            let (mut held_up, mut last_ms) = (Vec::new(), now_ms());
            while !ends.load(Ordering::Relaxed) {
                pause(LOOK_EVERY);
                let now_ms = now_ms();
                if now_ms - last_ms > HELD_UP_MS {
                    held_up.push((last_ms, now_ms));
                }
                last_ms = now_ms;
            }
            held_up
        });
        Self { is_over, watching: Some(watching) }
    }

    /// From when to when everything stood still.
    pub(crate) fn end(&mut self) -> Vec<(i64, i64)> {
        self.is_over.store(true, Ordering::Relaxed);
        self.watching.take().and_then(|watching| watching.join().ok()).unwrap_or_default()
    }
}

impl Drop for Watchman {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
