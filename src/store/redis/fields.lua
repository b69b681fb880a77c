-- Invariant: reads the record once and the clock once. Put in front of every request.
-- KEYS: 1 state (the record), 2 lock (its mirror for people), 3 runs (history).
local FIELDS = {
  'schema', 'fence', 'mark', 'until', 'lease', 'phase', 'run', 'tick', 'tries', 'cause',
  'started', 'ended', 'last', 'reason', 'owner', 'era', 'sched', 'paused', 'order', 'stop', 'lost',
  'paused_at', 'paused_by', 'paused_why', 'stop_by', 'order_tick', 'order_at', 'taken', 'taken_run', 'stop_for',
  'settled', 'since',
}
local NUMBERS = {
  schema = true, fence = true, mark = true, ['until'] = true, lease = true, tick = true, tries = true,
  started = true, ended = true, paused = true, lost = true, paused_at = true, order_tick = true,
  order_at = true, settled = true, since = true,
}
-- Those that are no numbers, and what they are where they are not stored.
local TEXTS = {
  run = '', cause = '', last = '', reason = '', owner = '', era = '', sched = '', order = '', stop = '',
  paused_by = '', paused_why = '', stop_by = '', stop_for = '', taken = '', taken_run = '',
}
local SCHEMA = 1
local EARLY_TOLERANCE = 200
local SYNC_TOLERANCE = 1000
local FIRST_WAIT = 2000
local SETTLING = 5000
local KEPT_ENTRIES = 200
local RENEWALS_PER_LEASE = 6
local RENEWAL_ALLOWANCE = 4000
-- The year 9999.
local UNTIL_RESUMED = 253370764800000
-- In place of a schedule's hash: the job has none.
local NO_SCHEDULE = 'none'
-- A tick is granted once, and once more after an interruption.
local TRIES = 2
-- The largest whole number that a double holds exactly.
local MAX = 9007199254740991

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local era = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
local record = nil
local changed = false
local entries = {}
-- Where the first of them only goes on: with the ticks right after this one.
local follows = nil
-- Where a tick is decided, or is open again: on which channel that is told of which job, as which answer, with what besides.
local hint = nil

-- The fields as they are stored; one that is not there is an empty text.
local stored, read = {}, {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do
  local name, value = flat[i], flat[i + 1]
  stored[name] = value
  if NUMBERS[name] then value = tonumber(value) end
  read[name] = value
end
if stored.schema then
  record = setmetatable(read, { __index = TEXTS })
  record.since = record.since or 0
end

-- A number as whole digits; an absent one as an empty text.
local function text(value)
  if value == nil then return '' end
  if type(value) == 'number' then return string.format('%.0f', value) end
  return value
end

local function plus(a, b)
  return math.min(a + b, MAX)
end

local function empty()
  local numbers = {
    schema = SCHEMA, fence = 0, mark = 0, ['until'] = 0, lease = 0, tries = 0, settled = 0, since = 0, phase = 'idle',
  }
  return setmetatable(numbers, { __index = TEXTS })
end

-- The mirror of the lock lives exactly as long as the lock.
local function mirror()
  if record.phase == 'running' and record['until'] > now then
    local shown = 'node=' .. record.owner .. ' run=' .. record.run .. ' fence=' .. text(record.fence)
      .. ' tick_ms=' .. text(record.tick) .. ' started_ms=' .. text(record.started)
    redis.call('SET', KEYS[2], shown, 'PX', text(record['until'] - now))
  else
    redis.call('DEL', KEYS[2])
  end
end
