-- Invariant: every decided tick has its entry; entries that a clock that was ahead made are withdrawn, and no others.
local function value_of(entry, name)
  for i = 1, #entry, 2 do
    if entry[i] == name then return entry[i + 1] end
  end
  return nil
end

-- Returns for how many ticks an entry stands; nil if that is not known.
local function stands_for(entry)
  return tonumber(value_of(entry, 'count')) or (not value_of(entry, 'after') and 1) or nil
end

-- Joins an entry with `next`, whose ticks come right after its own. Returns nil unless the ticks of both were missed for
-- the same reason, or skipped because the job is paused, and have the same cause.
local function joined(entry, next)
  local outcome, reason, cause = value_of(entry, 'outcome'), value_of(entry, 'reason'), value_of(entry, 'cause')
  local is_alike = outcome == value_of(next, 'outcome') and reason == value_of(next, 'reason')
    and cause == value_of(next, 'cause')
  local has_run = value_of(entry, 'run') or value_of(next, 'run')
  if not is_alike or has_run or (outcome ~= 'missed' and reason ~= 'paused') then return nil end
  local ours, more = stands_for(entry), stands_for(next)
  local after = value_of(entry, 'after') or text(tonumber(value_of(entry, 'tick')) - 1)
  local both = { 'tick', value_of(next, 'tick'), 'after', after, 'cause', cause, 'outcome', outcome }
  local function put(name, value)
    if value then
      both[#both + 1] = name
      both[#both + 1] = value
    end
  end
  put('count', ours and more and text(ours + more))
  put('reason', reason)
  put('finished', value_of(next, 'finished'))
  return both
end

-- Joins the newest entry of the history with the first new one, if its ticks come right before that one's. If the user may
-- not delete it, both entries stay.
local function join(newest)
  if tonumber(value_of(newest[2], 'tick')) ~= follows then return end
  local both = joined(newest[2], entries[1])
  if both and type(redis.pcall('XDEL', KEYS[3], newest[1])) == 'number' then entries[1] = both end
end

-- Withdraws the entries of ticks in these leaps that did not run: a clock that was ahead made them.
local function retract()
  if #retracted == 0 then return end
  for _, row in ipairs(given(KEYS[3], redis.pcall('XREVRANGE', KEYS[3], '+', '-', 'COUNT', KEPT_ENTRIES))) do
    local tick = tonumber(value_of(row[2], 'tick'))
    local after = tonumber(value_of(row[2], 'after') or tick - 1)
    for _, leap in ipairs(retracted) do
      local is_covered = leap.after <= after and tick <= leap.to and not value_of(row[2], 'run')
      if is_covered then redis.pcall('XDEL', KEYS[3], row[1]) end
    end
  end
end

-- Whether the entry, whose run has no entry of its own, is of a run of which its holder has reported nothing, and this one says
-- why its tick did not run: a record that went back to an older state, without its history, still shows that run.
local function denies(other, entry)
  if value_of(entry, 'attempt') or value_of(entry, 'cause') == 'manual' then return false end
  if value_of(other, 'run') or value_of(other, 'cause') == 'manual' or value_of(other, 'outcome') == 'unknown' then return false end
  local tick, to = tonumber(value_of(entry, 'tick')), tonumber(value_of(other, 'tick'))
  return tick <= to and tick > tonumber(value_of(other, 'after') or to - 1)
end

-- Whether the run of the entry has one in the history already, or its tick one that says why it did not run. This is not read for
-- a run whose end is reported for the first time. If the server forgot a run's end, or went back, the entry may exist all the
-- same: the history is a key of its own.
local function is_repeated(entry)
  local run = value_of(entry, 'run')
  if not run or run == ends then return false end
  for _, row in ipairs(given(KEYS[3], redis.pcall('XREVRANGE', KEYS[3], '+', '-', 'COUNT', KEPT_ENTRIES))) do
    if value_of(row[2], 'run') == run or denies(row[2], entry) then return true end
  end
  return false
end

local function append()
  for _, entry in ipairs(entries) do
    if not is_repeated(entry) then
      given(KEYS[3], redis.pcall('XADD', KEYS[3], 'MAXLEN', KEPT_ENTRIES, '*', unpack(entry)))
    end
  end
end

-- Returns the start of the last part of a span: the ticks after the returned instant, up to `to`, all lie in one leap, or
-- all in none. Also returns whether they have no entry here: they are open, or ran.
local function last_part(after, to)
  local from, is_apart = after, false
  for _, leap in ipairs(leaps_of()) do
    if leap.passed ~= LOST and leap.after < to and after < leap.to then
      from = leap.to < to and leap.to or math.max(leap.after, after)
      is_apart = leap.to >= to and (leap.passed == OPEN or leap.passed == RAN)
    end
  end
  return from, is_apart
end

-- Returns the same entry for other ticks, whose number is not known.
local function of_ticks(entry, after, to)
  local other = { 'tick', text(to), 'after', text(after) }
  for i = 1, #entry, 2 do
    local name = entry[i]
    if name ~= 'tick' and name ~= 'after' and name ~= 'count' then
      other[#other + 1] = name
      other[#other + 1] = entry[i + 1]
    end
  end
  return other
end

-- Returns the parts of an entry, newest first.
local function parts_of(entry, before)
  local after, to = tonumber(value_of(entry, 'after')), tonumber(value_of(entry, 'tick'))
  if not after or value_of(entry, 'run') then return { entry } end
  if last_part(after, to) == after and not has_ran(to) then return { entry } end
  if before and before >= to then before = nil end
  if value_of(entry, 'count') == '1' then before = after end
  local parts = {}
  while to > after do
    local from, is_apart = last_part(after, to)
    if not is_apart then parts[#parts + 1] = of_ticks(entry, from, to) end
    to, before = before and before < from and before or from, nil
  end
  return parts
end

-- Splits entries for ticks in a leap and outside of it: the part in a leap may be withdrawn, open ticks have no entry, and
-- a tick that ran has the entry of its run. `before` is the tick before the newest entry's, if that is known.
local function part_at_leaps(before)
  if record.leaps == '' then return end
  local parted = {}
  for _, entry in ipairs(entries) do
    local parts = parts_of(entry, before)
    for at = #parts, 1, -1 do parted[#parted + 1] = parts[at] end
  end
  entries = parted
end

-- Adds an entry: pairs of name and value. Absent values are left out.
local function add_entry(pairs_of)
  local entry = {}
  for i = 1, #pairs_of, 2 do
    local value = text(pairs_of[i + 1])
    if value ~= '' then
      entry[#entry + 1] = pairs_of[i]
      entry[#entry + 1] = value
    end
  end
  entries[#entries + 1] = entry
  changed = true
end
