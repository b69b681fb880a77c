-- Invariant: a heartbeat is stamped with the store's clock, and tells what the store knows of the others, also at
-- maxmemory. What somebody else has written to these keys is passed over, removed, and told of.
-- KEYS: 1 nodes, 2 notices. ARGV: 1 node, 2 what it says of itself, or empty only to listen; 3 forget nodes older than
-- this; 4 forget notices older than this, and what is further ahead; 5 the marker of a store that has none, or went back, and
-- where this replica was told that its last heartbeat was taken: which one, in which life, by which marker. In one, as a server
-- reads no longer requests before it has the password, and then does not say that it wants one.
-- No node has this name.
local MARKER = '-marker'
-- Earlier releases take a marker for a heartbeat, which is never old.
local NEVER_OLD = '253370764800000 '
-- Microseconds since the epoch have no more digits, and no count has.
local DIGITS = 16
-- No heartbeat is longer, and no node's name; no field that no replica has written may be.
local LONGEST, LONGEST_NAME = 65536, 256
-- As many foreign fields are told of; all are removed.
local TOLD = 20

local era, why = read_era()
if not era then return { err = why } end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local is_listening, foreign = ARGV[2] == '', {}

-- The fields of a hash. One of another type has lost them already, and gives way.
local function fields_of(key)
  local fields = redis.pcall('HGETALL', key)
  if not fields.err then return fields end
  if not string.find(fields.err, 'WRONGTYPE') then error(fields.err, 0) end
  if not is_listening then redis.call('DEL', key) end
  foreign[#foreign + 1], foreign[#foreign + 2] = key, ''
  return {}
end

local function remove(key, field, is_foreign)
  if not is_listening then redis.call('HDEL', key, field) end
  if is_foreign and #foreign < 2 * TOLD then foreign[#foreign + 1], foreign[#foreign + 2] = key, field end
end

-- What is further ahead was written before the clock was set back.
local function is_over(at, age)
  return now - at > age or at - now > tonumber(ARGV[4])
end

-- Which heartbeat this is, of all that were taken; none where it has no number, or one that is no count: that was written by another
-- hand.
local function count_of(said, digits)
  local count = string.match(said, '^%d+ {"count":([1-9]%d*),')
  return count and #count <= digits and tonumber(count) or nil
end

-- The last heartbeat of this replica, and of all.
local own, newest, count = nil, 0, 0
local fresh, taken, taken_in, taken_by = string.match(ARGV[5], '^(%S+) ?(%d*) ?(%S*) ?(.*)$')
local known, notices, marker, told, beats = fields_of(KEYS[1]), fields_of(KEYS[2]), nil, {}, {}
for i = 1, #notices, 2 do
  local job, stamp = notices[i], notices[i + 1]
  -- Microseconds, so that no two are alike.
  local at = string.find(stamp, '^%d+$') and #stamp <= DIGITS and math.floor(tonumber(stamp) / 1000)
  if not at or is_over(at, tonumber(ARGV[4])) then
    remove(KEYS[2], job, not at)
  else
    told[#told + 1], told[#told + 2] = job, stamp
  end
end
for i = 1, #known, 2 do
  local node, said = known[i], known[i + 1]
  local is_long = #said > LONGEST or #node > LONGEST_NAME
  local at = not is_long and tonumber(string.match(said, '^(%d+) '))
  -- What follows on the newest has a digit more at most.
  if node == ARGV[1] then own = count_of(said, DIGITS) end
  newest = math.max(newest, count_of(said, DIGITS - 1) or 0)
  if node == MARKER then
    marker = string.match(said, '^' .. NEVER_OLD .. '(.+)$')
  elseif not at or is_over(at, tonumber(ARGV[3])) then
    remove(KEYS[1], node, not at)
  else
    beats[#beats + 1], beats[#beats + 2] = node, said
  end
end
if not is_listening then
  -- HDEL passes at maxmemory, and then the rest of the script does. No node has an empty name.
  redis.call('HDEL', KEYS[1], '')
  -- A server that knows less than it has told went back to an older state, in the same life: it forgot, and all are told. Others may
  -- have removed this replica's heartbeat: then all that are left are older.
  local went_back = taken ~= '' and taken_in == era and taken_by == marker and (own or newest) < tonumber(taken)
  if not marker or went_back then
    marker = fresh
    redis.call('HSET', KEYS[1], MARKER, NEVER_OLD .. marker)
  end
  count = newest + 1
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f {"count":%.0f,', now, count) .. string.sub(ARGV[2], 2))
end
return { { string.format('%.0f', now), era, marker or '', string.format('%.0f', count) }, told, foreign, beats }
