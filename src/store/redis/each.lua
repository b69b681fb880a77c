-- Invariant: requests are decided in their order, each by itself: one that fails is told so, and the others go on.
-- KEYS: three for each request. ARGV: 1 how many each has; theirs, one after the other.
local replies, each = {}, tonumber(ARGV[1])
for i = 1, #KEYS / 3 do
  local args = { unpack(ARGV, (i - 1) * each + 2, i * each + 1) }
  local is_decided, reply = pcall(decide, { unpack(KEYS, i * 3 - 2, i * 3) }, args)
  if not is_decided then reply = { err = type(reply) == 'table' and reply.err or tostring(reply) } end
  replies[i] = reply
end
-- Nothing rests on it: a user may lack the right.
if #told > 0 then redis.pcall('PUBLISH', channel, table.concat(told, '\30')) end
return replies
