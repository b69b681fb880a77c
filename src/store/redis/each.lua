-- Invariant: requests are decided in their order, each by itself: one that fails is told so, and the others go on.
-- KEYS: three for each request. ARGV: 1 how many each has; theirs, one after the other.
local replies, each = {}, tonumber(all_args[1])
for i = 1, #all_keys / 3 do
  KEYS = { unpack(all_keys, i * 3 - 2, i * 3) }
  ARGV = { unpack(all_args, (i - 1) * each + 2, i * each + 1) }
  local is_decided, reply = pcall(decide)
  if not is_decided then reply = { err = type(reply) == 'table' and reply.err or tostring(reply) } end
  replies[i] = reply
end
-- Nothing rests on it: a user may lack the right.
if #told > 0 then redis.pcall('PUBLISH', channel, table.concat(told, '\30')) end
return replies
