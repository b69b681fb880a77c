-- Invariant: what a slip holds is returned once: it is removed in the same step. Of a slip that holds more than solocron leaves
-- there, only the size is returned, in bytes.
-- KEYS: 1 slip. ARGV: 1 the most bytes.
local held, bytes = redis.call('HGETALL', KEYS[1]), 0
if #held > 0 then redis.call('DEL', KEYS[1]) end
for _, part in ipairs(held) do bytes = bytes + #part end
if bytes > tonumber(ARGV[1]) then return bytes end
return held
