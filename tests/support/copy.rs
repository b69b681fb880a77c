//! A copy of all that a Redis server holds, to go back to.

/// Copies everything into the next database, at one instant; answers how many keys were not copied.
pub(crate) const COPY: &str = "redis.call('SELECT', 1) redis.call('FLUSHDB') redis.call('SELECT', 0) local left = 0 \
                    for _, key in ipairs(redis.call('KEYS', '*')) do \
                    left = left + 1 - redis.call('COPY', key, key, 'DB', 1) end return left";
