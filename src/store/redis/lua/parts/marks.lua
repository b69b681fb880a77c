-- Invariant: nothing is changed. Returns the schema, mark and lease of each record; empty texts for a missing record and
-- for a key of another type. The mark is an empty text if it lies ahead, or has open ticks below it: only the rules know
-- what that decides.
-- KEYS: the records.
local EARLY_TOLERANCE = 200
local time = redis.call('TIME')
local front = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + EARLY_TOLERANCE
local found = {}
for _, key in ipairs(KEYS) do
  local read = redis.pcall('HMGET', key, 'schema', 'mark', 'lease', 'leaps')
  if read.err and not string.find(read.err, 'WRONGTYPE') then error(read.err, 0) end
  local schema, mark, lease, leaps = unpack(read.err and {} or read)
  local lies_ahead = (tonumber(mark or '') or 0) > front or string.find(leaps or '', '!', 1, true)
  found[#found + 1] = schema or ''
  found[#found + 1] = lies_ahead and '' or mark or ''
  found[#found + 1] = lease or ''
end
return found
