-- Invariant: also at maxmemory, a heartbeat gets the store's time, and its reply has what the store knows of the others.
-- Fields of these keys that no replica wrote are skipped, removed and reported.
-- KEYS: 1 nodes, 2 notices. ARGV: 1 node, 2 its heartbeat, or empty only to listen; 3 forget nodes that are older than
-- this, in ms; 4 forget notices that are older than this, and stamps that are further ahead; 5 a fresh marker, for a store
-- that has none or went back, followed by what the store answered to this replica's last heartbeat: its count, the era and
-- the marker. These are one argument, because a server that has not received the password yet does not read longer
-- requests, and then does not report that it wants one.
-- The field of the marker. No node has this name.
local MARKER = '-marker'
-- Earlier releases take the marker for a heartbeat; with this stamp it is never old.
local NEVER_OLD = '253370764800000 '
-- Neither microseconds since 1970 nor a count have more digits.
local DIGITS = 16
-- No heartbeat and no node's name is longer, in bytes. A longer field is foreign. A heartbeat lists the runs of its replica, each
-- in 160 bytes at most.
local LONGEST, LONGEST_NAME = 4194304, 256
-- At most this many foreign fields are reported; all are removed.
local TOLD = 20

local era, why = read_era()
if not era then return { err = why } end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local is_listening, foreign = ARGV[2] == '', {}

-- Returns the fields of a hash. A key of another type has lost them already, and is deleted.
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

-- A stamp that is further ahead was written before the clock was set back.
local function is_over(at, age)
  return now - at > age or at - now > tonumber(ARGV[4])
end

-- Returns the number of this heartbeat among all that the store took; nil if it has none, or an invalid one, which no
-- replica wrote.
local function count_of(said, digits)
  local count = string.match(said, '^%d+ {"count":([1-9]%d*),')
  return count and #count <= digits and tonumber(count) or nil
end

-- The counts of this replica's last heartbeat, and of the newest of all.
local own, newest, count = nil, 0, 0
local fresh, taken, taken_in, taken_by = string.match(ARGV[5], '^(%S+) ?(%d*) ?(%S*) ?(.*)$')
local known, notices, marker, told, beats = fields_of(KEYS[1]), fields_of(KEYS[2]), nil, {}, {}
for i = 1, #notices, 2 do
  local job, stamp = notices[i], notices[i + 1]
  -- Notices are stamped in microseconds, so that no two are alike.
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
  -- The count that follows the newest has one digit more at most.
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
  -- Redis allows HDEL at maxmemory, and then also the rest of the script. No node has an empty name.
  redis.call('HDEL', KEYS[1], '')
  -- A server that knows less than it reported before went back to an older state within the era: it forgot, and the fresh
  -- marker tells all replicas. If other replicas have removed this replica's heartbeat, it went back if all heartbeats that
  -- are left are older.
  local went_back = taken ~= '' and taken_in == era and taken_by == marker and (own or newest) < tonumber(taken)
  if not marker or went_back then
    marker = fresh
    redis.call('HSET', KEYS[1], MARKER, NEVER_OLD .. marker)
  end
  count = newest + 1
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f {"count":%.0f,', now, count) .. string.sub(ARGV[2], 2))
end
return { { string.format('%.0f', now), era, marker or '', string.format('%.0f', count) }, told, foreign, beats }
