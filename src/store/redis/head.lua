-- Invariant: the clock, and which life of the server this is, are read once for all requests of a call.
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
local ABSENT = { __index = TEXTS }
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
-- What is told of decisions, and on which channel.
local told, channel = {}, nil

-- Of one request at a time: its keys and arguments, and the record as it was stored and as it is now.
local all_keys, all_args = KEYS, ARGV
local KEYS, ARGV, stored, record
local changed, entries
-- Where the first of them only goes on: with the ticks right after this one.
local follows
-- Where a tick is decided, or is open again: on which channel that is told of which job, as which answer, with what besides.
local hint
-- Whether there may be a mirror of the lock.
local is_mirrored

-- Requests that come together have most of their numbers in common: each is read, and written, once.
local numbers, digits = {}, {}

-- A text as a number; an absent number is an empty text.
local function number(said)
  local value = numbers[said]
  if not value then
    value = tonumber(said)
    numbers[said] = value
  end
  return value
end

-- A number as whole digits; an absent one as an empty text.
local function text(value)
  if value == nil then return '' end
  if type(value) ~= 'number' then return value end
  local said = digits[value]
  if not said then
    said = string.format('%.0f', value)
    digits[value] = said
  end
  return said
end
