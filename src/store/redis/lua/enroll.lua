-- Invariant: the cluster remembers every job that it was told of, also at maxmemory.
-- KEYS: 1 jobs, 2 nodes. ARGV: the jobs.
-- HDEL passes at maxmemory, and then the rest of the script does. No node has an empty name.
redis.call('HDEL', KEYS[2], '')
for _, job in ipairs(ARGV) do
  local added = redis.pcall('SADD', KEYS[1], job)
  -- Of another type: what it held of ours is lost, and every replica enrolls its jobs.
  if type(added) == 'table' and string.find(added.err, 'WRONGTYPE') then redis.call('DEL', KEYS[1]) end
  if type(added) == 'table' then redis.call('SADD', KEYS[1], job) end
end
return #ARGV
