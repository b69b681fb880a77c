-- Invariant: what a slip holds is returned once: it is removed in the same step. Of what solocron does not leave there, only the size
-- is looked at: the bytes of the texts, and how many fields there are. A key of another type is removed, too.
-- KEYS: 1 slip. ARGV: 1 the most bytes, 2 the most texts.
local count, bytes, names, held = redis.pcall('HLEN', KEYS[1]), 0, {}, {}
if type(count) == 'table' then
  if string.find(count.err, 'WRONGTYPE') then redis.call('DEL', KEYS[1]) end
  return count
end
for i = 1, math.min(count, tonumber(ARGV[2])) do
  names[i] = string.format('%.0f', i)
  bytes = bytes + redis.call('HSTRLEN', KEYS[1], names[i])
end
if count == #names and count > 0 and bytes <= tonumber(ARGV[1]) then
  held = redis.call('HMGET', KEYS[1], unpack(names))
end
if count > 0 then redis.call('DEL', KEYS[1]) end
for i = 1, count do
  if not held[i] then return { bytes, count } end
end
return held
