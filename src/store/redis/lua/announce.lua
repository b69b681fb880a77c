-- Invariant: a notice carries the store's time, by which replicas distinguish it from the one before, also at maxmemory.
-- KEYS: 1 notices. ARGV: 1 job.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- Redis allows HDEL at maxmemory, and then also the rest of the script. No job has an empty name.
redis.call('HDEL', KEYS[1], '')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now))
return 1
