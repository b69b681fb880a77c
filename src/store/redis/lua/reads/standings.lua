-- Invariant: nothing is changed. Returns these fields of each record; an empty list for a missing record, for a key of another
-- type, and for a record with a longer field than solocron writes. Without the first field, no record is there.
-- KEYS: the records. ARGV: 1 the longest field, in bytes; then the fields.
local longest, names, found = tonumber(ARGV[1]), { unpack(ARGV, 2) }, {}
for at, key in ipairs(KEYS) do
  local read = redis.pcall('HMGET', key, unpack(names))
  if read.err and not string.find(read.err, 'WRONGTYPE') then error(read.err, 0) end
  local values, is_ours = {}, not read.err and read[1]
  for i = 1, is_ours and #names or 0 do
    values[i] = read[i] or ''
    is_ours = is_ours and #values[i] <= longest
  end
  found[at] = is_ours and values or {}
end
return found
