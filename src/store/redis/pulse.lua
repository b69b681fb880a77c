-- Invariant: a heartbeat is stamped with the store's clock, and tells what the store knows of the others, also at
-- maxmemory.
-- KEYS: 1 nodes, 2 notices. ARGV: 1 node, 2 what it says of itself, or empty only to listen; 3 forget nodes older than
-- this; 4 forget notices older than this.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local era = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
local known = redis.call('HGETALL', KEYS[1])
local forgot = '1'
local reply = { string.format('%.0f', now), era, forgot, '0' }
local notices = redis.call('HGETALL', KEYS[2])
for i = 1, #notices, 2 do
  -- Microseconds, so that no two are alike.
  if now - math.floor(tonumber(notices[i + 1]) / 1000) > tonumber(ARGV[4]) then
    if ARGV[2] ~= '' then redis.call('HDEL', KEYS[2], notices[i]) end
  else
    reply[4] = string.format('%.0f', tonumber(reply[4]) + 1)
    reply[#reply + 1] = notices[i]
    reply[#reply + 1] = notices[i + 1]
  end
end
for i = 1, #known, 2 do
  local at = tonumber(string.match(known[i + 1], '^(%d+) ')) or 0
  if now - at > tonumber(ARGV[3]) then
    if ARGV[2] ~= '' then redis.call('HDEL', KEYS[1], known[i]) end
  else
    if known[i] == ARGV[1] then reply[3] = '0' end
    reply[#reply + 1] = known[i]
    reply[#reply + 1] = known[i + 1]
  end
end
if ARGV[2] ~= '' then
  -- HDEL passes at maxmemory, and then the rest of the script does. No node has an empty name.
  redis.call('HDEL', KEYS[1], '')
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
end
return reply
