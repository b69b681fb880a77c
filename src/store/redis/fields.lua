-- Invariant: reads the record once. Put in front of every request, of which each is decided by itself.
-- KEYS: 1 state (the record), 2 lock (its mirror for people), 3 runs (history).
local function read_record()
  local read, flat, is_there = {}, redis.call('HGETALL', KEYS[1]), false
  stored, record, changed, entries, follows, hint, is_mirrored = {}, nil, false, {}, nil, nil, true
  for i = 1, #flat, 2 do
    local name, value = flat[i], flat[i + 1]
    if name == 'schema' then is_there = true end
    if NUMBERS[name] then value = number(value) end
    stored[name], read[name] = value, value
  end
  if not is_there then return end
  record = setmetatable(read, ABSENT)
  record.since = record.since or 0
end

local function plus(a, b)
  return math.min(a + b, MAX)
end

local function empty()
  local values = {
    schema = SCHEMA, fence = 0, mark = 0, ['until'] = 0, lease = 0, tries = 0, settled = 0, since = 0, phase = 'idle',
  }
  return setmetatable(values, ABSENT)
end

-- Also the first write of a request that must pass at maxmemory: DEL does, and then the rest does.
local function drop_mirror()
  redis.call('DEL', KEYS[2])
  is_mirrored, changed = false, true
end

-- The mirror of the lock lives exactly as long as the lock.
local function mirror()
  if record.phase == 'running' and record['until'] > now then
    local shown = 'node=' .. record.owner .. ' run=' .. record.run .. ' fence=' .. text(record.fence)
      .. ' tick_ms=' .. text(record.tick) .. ' started_ms=' .. text(record.started)
    redis.call('SET', KEYS[2], shown, 'PX', text(record['until'] - now))
  elseif is_mirrored then
    drop_mirror()
  end
end
