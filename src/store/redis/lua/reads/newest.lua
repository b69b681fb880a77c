-- Invariant: nothing is changed. Returns the newest entries between two ids, newest first. An entry that is longer than solocron
-- writes has no fields.
-- KEYS: 1 feed. ARGV: 1 the newest id, 2 the oldest id, 3 how many entries, 4 the most bytes of an entry.
local rows = redis.call('XREVRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])
for _, row in ipairs(rows) do
  local bytes = 0
  for _, part in ipairs(row[2]) do bytes = bytes + #part end
  if bytes > tonumber(ARGV[4]) then row[2] = {} end
end
return rows
