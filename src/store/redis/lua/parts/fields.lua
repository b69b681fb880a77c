-- Invariant: the record is read once. Included before every request; each request is decided on its own.
-- KEYS: 1 state (the record), 2 lock (its mirror for people), 3 runs (history).
local FIELDS = {
  'schema', 'fence', 'mark', 'until', 'lease', 'phase', 'run', 'tick', 'tries', 'cause',
  'started', 'ended', 'last', 'reason', 'owner', 'era', 'sched', 'paused', 'order', 'stop', 'lost',
  'paused_at', 'paused_by', 'paused_why', 'stop_by', 'order_tick', 'order_at', 'taken', 'taken_run', 'stop_for',
  'settled', 'since', 'leaps', 'returned', 'floor', 'made', 'returned_ahead', 'returns_ahead',
  'ok', 'ok_at', 'bad', 'bad_since',
}
local NUMBERS = {
  schema = true, fence = true, mark = true, ['until'] = true, lease = true, tick = true, tries = true,
  started = true, ended = true, paused = true, lost = true, paused_at = true, order_tick = true,
  order_at = true, settled = true, since = true, returned = true, floor = true,
  made = true, returned_ahead = true, returns_ahead = true,
  ok = true, ok_at = true, bad = true, bad_since = true,
}
-- The fields that are texts, with their values where they are not stored.
local TEXTS = {
  run = '', cause = '', last = '', reason = '', owner = '', era = '', sched = '', order = '', stop = '',
  paused_by = '', paused_why = '', stop_by = '', stop_for = '', taken = '', taken_run = '', leaps = '',
}
local ABSENT = { __index = TEXTS }
local FIRST_WAIT = 2000
local RENEWALS_PER_LEASE = 6
local RENEWAL_ALLOWANCE = 4000
-- The year 9999.
local UNTIL_RESUMED = 253370764800000
-- Stands in place of a schedule's hash: the job has none.
local NO_SCHEDULE = 'none'

-- Of one request at a time: its keys and arguments, the record as it was stored, and the record as it is now.
local KEYS, ARGV, stored, record
local changed, entries
-- The tick right before the ticks of the first entry, if that entry may be joined to the newest one of the history.
local follows
-- The run whose end its holder reports for the first time.
local ends
-- The hint about a tick that was decided, or is open again: its channel, job and answer, and further values.
local hint
-- Whether a mirror of the lock may exist.
local is_mirrored
-- No correct clock shows more: the later of the server's and the caller's, plus EARLY_TOLERANCE. MAX where that does not matter.
local front
-- Leaps whose entries are withdrawn.
local retracted

local function read_record()
  local read, flat, is_there, foreign = {}, given(KEYS[1], redis.pcall('HGETALL', KEYS[1])), false, nil
  stored, record, changed, entries, follows, hint, is_mirrored, ends = {}, nil, false, {}, nil, nil, true, nil
  front, retracted = MAX, {}
  for i = 1, #flat, 2 do
    local name, value = flat[i], flat[i + 1]
    if name == 'schema' then is_there = true end
    if NUMBERS[name] then
      if value ~= '' and not string.find(value, '^%-?%d+$') then foreign = i end
      value = number(value)
    end
    stored[name], read[name] = value, value
  end
  if not is_there then return end
  if foreign then
    error('ERR field `' .. flat[foreign] .. '` of `' .. KEYS[1] .. '` holds `' .. quoted(flat[foreign + 1]) .. '`, which is no whole ' ..
      'number: HSET what it was, or DEL the key, and its job waits one lease', 0)
  end
  record = setmetatable(read, ABSENT)
  record.since, record.returned, record.floor = record.since or 0, record.returned or 0, record.floor or 0
  record.made, record.returned_ahead, record.returns_ahead = record.made or 0, record.returned_ahead or 0, record.returns_ahead or 0
  record.bad = record.bad or 0
end

local function empty()
  local values = {
    schema = SCHEMA, fence = 0, mark = 0, ['until'] = 0, lease = 0, tries = 0, settled = 0, since = 0, returned = 0, floor = 0,
    made = 0, returned_ahead = 0, returns_ahead = 0, bad = 0, phase = 'idle',
  }
  return setmetatable(values, ABSENT)
end

-- Deletes the mirror. Also the first write of a request that must pass at maxmemory: Redis allows DEL there, and then also
-- the rest.
local function drop_mirror()
  redis.call('DEL', KEYS[2])
  is_mirrored, changed = false, true
end

-- Writes the mirror of the lock. It lives exactly as long as the lock.
local function mirror()
  if record.phase == 'running' and record['until'] > now then
    local lines = shown(record.owner, record.run, text(record.fence), text(record.tick), text(record.started))
    redis.call('SET', KEYS[2], lines, 'PX', text(record['until'] - now))
  elseif is_mirrored then
    drop_mirror()
  end
end
