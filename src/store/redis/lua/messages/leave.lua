-- Invariant: a slip has a ttl from its first text on. A text that does not fit changes nothing, and the answer is then what the
-- slip holds. A key of another type is replaced, and the answer is then 1.
-- KEYS: 1 slip. ARGV: 1 text, 2 ttl in ms, 3 the most bytes, 4 the most texts, 5 the channel of wakes, 6 the wake.
local texts, bytes, replaced = redis.pcall('HLEN', KEYS[1]), 0, false
if type(texts) == 'table' then
  if not string.find(texts.err, 'WRONGTYPE') then return texts end
  redis.call('DEL', KEYS[1])
  texts, replaced = 0, true
end
for i = 1, math.min(texts, tonumber(ARGV[4])) do
  bytes = bytes + redis.call('HSTRLEN', KEYS[1], string.format('%.0f', i))
end
if texts >= tonumber(ARGV[4]) or bytes + #ARGV[1] > tonumber(ARGV[3]) then return { bytes, texts } end
redis.call('HSET', KEYS[1], string.format('%.0f', texts + 1), ARGV[1])
local timed = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
if type(timed) == 'table' and timed.err then
  redis.call('DEL', KEYS[1])
  return timed
end
-- Nothing depends on wakes: the user may lack the right to publish.
redis.pcall('PUBLISH', ARGV[5], ARGV[6])
return replaced and { 1 } or {}
