-- Invariant: reads the record once. Put in front of every request, of which each is decided by itself.
-- KEYS: 1 state (the record), 2 lock (its mirror for people), 3 runs (history).
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
