-- Invariant: nothing is written before everything has been validated; then all changes are written at once, with the answer.
-- Fields that did not change are not written: that is less for the server to do, to log and to replicate. A decision whose
-- entries cannot be written is not made: the history may be a key of another type, so it is read or written first.
local function save()
  local args = {}
  for _, name in ipairs(FIELDS) do
    local before, value = stored[name] or TEXTS[name], record[name]
    if value ~= before then
      args[#args + 1] = name
      args[#args + 1] = text(value)
    end
  end
  retract()
  local newest
  if follows and entries[1] then
    newest = given(KEYS[3], redis.pcall('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1))[1]
  end
  if not newest then append() end
  if #args > 0 then redis.call('HSET', KEYS[1], unpack(args)) end
  mirror()
  if newest then
    join(newest)
    append()
  end
end

-- Whether the tick of the newest run may run once more: its run was interrupted, or is running and may still be interrupted.
local function has_rerun_left()
  if not record or record.schema > SCHEMA or not record.tick or record.cause == 'manual' then return false end
  -- No tick of another schedule is rerun.
  if record.tick <= record.since then return false end
  return record.tries < TRIES and (record.phase == 'running' or record.last == 'interrupted')
end

-- Excludes a rerun if a stop of the run was requested: a run that shall stop shall not run once more.
local function forgo_rerun_if_stopped()
  if record.stop ~= '' and record.stop == record.run then record.tries = math.max(record.tries, TRIES) end
end

-- Returns why this run shall be stopped; an empty text if it shall not.
local function stop_reason(run)
  if record.stop ~= run then return '' end
  return record.stop_for ~= '' and record.stop_for or 'operator'
end

-- Counts the new entries. An entry for several ticks whose number is not known counts as one.
local function count_entries()
  for _, entry in ipairs(entries) do
    local tick, ended = tonumber(value_of(entry, 'tick')), tonumber(value_of(entry, 'finished'))
    record.ok, record.ok_at, record.bad, record.bad_since = counted(
      record.ok, record.ok_at, record.bad, record.bad_since,
      tick, value_of(entry, 'outcome'), ended, tonumber(value_of(entry, 'count') or 1)
    )
  end
end

-- Writes the changes and returns the answer: name, now, mark, lease; the tick that may run once more, the replica that had
-- it, whether that run is running, and how long until the lock is free; then the values of this answer.
local function answer(name, ...)
  if changed then
    count_entries()
    save()
  end
  local reply = { name, text(now), record and text(decided_mark()) or '', record and text(record.lease) or '', '', '', '', '' }
  if has_rerun_left() then
    reply[5], reply[6], reply[7] = text(record.tick), record.owner, record.phase == 'running' and '1' or '0'
    reply[8] = text(math.max(record['until'] - now, 0))
  end
  if hint then tell(hint.channel, hint.job, hint.name, reply, unpack(hint)) end
  for _, value in ipairs({ ... }) do
    reply[#reply + 1] = text(value)
  end
  return reply
end

local function unsynced(expect)
  local is_off = math.abs(now - expect) > SYNC_TOLERANCE --[[protection: expect, off: false]]
  return is_off
end

-- Returns the longest lease that may be held.
local function longest_of(requested, recorded, largest)
  local longest = math.max(requested, recorded, largest) --[[protection: largest-lease, off: requested]]
  return longest
end

-- Returns the mark for a store that forgot, if its time was seen to be `heard`: any tick up to that mark may be decided.
local function maybe_decided(heard)
  local mark = plus(heard, EARLY_TOLERANCE) --[[protection: mark-reset, off: 0]]
  return mark
end

-- Adds the leaps that the mark makes on its way to `to`. Ticks that have not come yet are opened again once the clock that
-- showed them is known to have been ahead; so are those since `leapt`, the instant from which the clock leapt ahead.
local function leap_to(to, leapt)
  local come = now + EARLY_TOLERANCE
  if leapt then add_leap(math.max(record.mark, leapt), math.min(to, come), '') end
  add_leap(math.max(record.mark, come), to, '')
end

-- Returns the instant after which no tick has come, by the store's clock and by the caller's. What the store's clock shows
-- only because it leapt ahead does not count.
local function come_by(expect, leapt)
  return math.min(now + EARLY_TOLERANCE, plus(expect or now, SYNC_TOLERANCE + EARLY_TOLERANCE), leapt or MAX)
end

-- Raises the mark to `mark`: ticks up to there may have been decided and forgotten. Open ticks up to there are closed, if
-- they have come by the store's clock and by the caller's. The ticks that the mark passes still need their entry.
local function pass_unrecorded(mark, leapt, expect)
  reopen()
  lose(0, math.min(mark, come_by(expect, leapt)))
  if mark > record.mark then
    leap_to(mark, leapt)
    record.lost = record.lost or record.mark
    record.mark = mark
  end
end

-- As `pass_unrecorded`, up to a tick that was decided and is no part of a leap. `leapt` counts only if that tick has come:
-- the clock leapt before it showed the tick.
local function pass_unrecorded_to(tick, leapt)
  if tick > record.mark then
    leap_to(tick - 1, tick <= now + EARLY_TOLERANCE and leapt or nil)
    record.lost = record.lost or record.mark
    record.mark = tick
  end
end

-- Creates a missing record. Ticks above `seen` may have been forgotten with the former one.
local function create(heard, wait, seen, leapt)
  record = empty()
  record.era = era()
  pass_unrecorded(maybe_decided(math.max(now, heard)), leapt)
  if seen and seen > now + EARLY_TOLERANCE then except(seen - 1, seen) end
  record.lost = nil
  record.made = record.mark
  record['until'] = plus(math.max(now, heard), wait)
  record.settled = plus(now, math.min(wait, SETTLING))
  record.lease = wait
  if seen and seen < record.mark then record.lost = seen end
  changed = true
end

-- Ends the run that the record calls running, with an entry.
local function end_run(outcome, reason, ended)
  -- The end is not before the start, which may lie a moment ahead.
  ended = math.max(ended, record.started or ended)
  add_entry({
    'tick', record.tick or record.mark, 'run', record.run, 'node', record.owner, 'fence', record.fence,
    'cause', record.cause, 'outcome', outcome, 'reason', reason, 'started', record.started, 'finished', ended,
  })
  record.phase = 'idle'
  record['until'] = 0
  record.ended = ended
  record.last = outcome
  record.reason = reason
  forgo_rerun_if_stopped()
  record.stop = ''
  record.stop_for = ''
end

-- Closes the lock until the longest lease since the loss (now, if none is given) is over, because the store may have
-- forgotten a holder. The next seconds are for replicas that report what the store forgot.
local function wait_for_forgotten(largest, lease, since)
  record.lease = longest_of(lease, record.lease, largest)
  record['until'] = math.max(record['until'], plus(since or now, record.lease))
  record.settled = plus(now, math.min(record.lease, SETTLING))
  changed = true
end

-- Rule 4. A record without an era was missing until its holder put it back: anything up to now may be lost.
local function adopt_era(heard, earlier, largest, lease, leapt, expect)
  if record.era == era() then return end
  local since
  if record.era == '' then
    earlier = math.max(now, heard)
    if (record.settled or 0) ~= 0 then since = math.min(now, record.settled - SETTLING) end
  end
  record.era = era()
  wait_for_forgotten(largest, lease, since)
  pass_unrecorded(maybe_decided(earlier), leapt, expect)
end

-- Rule 4 within one era: if the record knows less than the store told the caller, the store went back to an older state,
-- and may have forgotten a holder, and decisions up to now.
local function fall_back(answered, largest, lease, leapt, expect)
  local shown = shown_at_most()
  local opened = opened_again(shown)
  local known = math.max(decided_mark(shown, opened), opened)
  local went_back = answered and answered > known and answered <= shown --[[protection: mark-reset, off: false]]
  if not went_back then return end
  wait_for_forgotten(largest, lease)
  pass_unrecorded(maybe_decided(now), leapt, expect)
  -- What a clock that leapt has shown stays open. This is recorded, so that it does not count as a loss the next time.
  if decided_mark(shown) < answered then open_again(answered, shown) end
end

-- Returns for how long replicas may still report what the store forgot of the job; nil once the record is settled, or if
-- the clock was set back since.
local function unsettled()
  local left = (record.settled or 0) - now
  return left > 0 and left <= SETTLING and left or nil
end

-- Whether the store may have forgotten something after the grant that the record shows: since then, or later, the record has
-- waited for reports of it. The grant may have come a moment before the start.
local function may_have_lost_since_grant()
  return record.settled and record.started and record.settled - SETTLING >= record.started - EARLY_TOLERANCE
end

-- The same since the last sign of life of the run that the record shows: its holder has not proved since that it still holds
-- the lock.
local function may_have_lost_since_last_sign()
  local alive = record.ended or record.started
  return record.settled and alive and record.settled - SETTLING > alive
end

-- Raises the floor of a record that is not settled above the fences that only a silent replica knows.
local function raise_floor(largest_fence)
  local told = math.max(record.fence, largest_fence)
  local is_ahead = told > now + UNTOLD_FENCES and told + UNTOLD_FENCES > record.floor
  if unsettled() and is_ahead then record.floor, changed = told + UNTOLD_FENCES, true end
end

-- Whether the record was never granted, or no tick was decided since it was created.
local function is_as_made()
  return record.run == '' or record.mark == record.made
end

-- Moves `since` back to `from` for a replica that knew the job before the record was created: the newest mark that it has
-- `seen` is below the mark of the creation. Otherwise the schedule would hold only since the replica that came first.
local function recall_since(seen, sched, from)
  if not seen or not from or seen >= record.made or record.mark ~= record.made or record.sched ~= sched then return end
  from = math.max(from, seen)
  if from < record.since then record.since, changed = from, true end
end

-- Marks as forgotten the ticks above the newest mark that the caller has seen, if the record was opened by a replica that
-- had not seen them, and nothing was decided since.
local function recall_lost(seen)
  if is_as_made() and not record.lost and seen and seen < record.mark then
    record.lost = seen
    changed = true
  end
end

-- Records a pause or resume of the job, unless a later one is recorded.
local function recall_pausing(said_until, at, by, why)
  if record.paused_at and record.paused_at >= at then return end
  record.paused, record.paused_at, record.paused_by, record.paused_why = said_until, at, by, why
  changed = true
end

-- Whether `sched` is the record's schedule, or the record has none.
local function is_under(sched)
  return record.sched == sched or record.sched == ''
end

-- Sets the schedule of the record: the replica that opens the record has used `sched` since `since`. An empty hash changes
-- nothing.
local function reschedule(sched, since)
  if sched == '' then return end
  if record.since > plus(now, EARLY_TOLERANCE) then
    -- A clock that was ahead, and was set back since, had put it into the future.
    record.since = since
    changed = true
  end
  if record.sched == sched then return end
  -- A record without a schedule that is older than this schedule, and has lost no tick, was created for other locks
  -- (`exec`), and no replica knew of ticks before it: then this schedule is the first. Otherwise the caller that created it
  -- had forgotten the schedule.
  local is_first = record.sched == '' and record.mark < since and not record.lost
  -- Ticks that were decided before their instants belong to the old schedule.
  local decided = record.mark <= plus(since, EARLY_TOLERANCE) and record.mark or since
  if is_first or not is_under(sched) then record.since = math.max(record.since, since, decided) end
  record.sched = sched
  changed = true
end

local function newer_schema()
  return record and record.schema > SCHEMA
end

-- Returns a number of ARGV; nil for an empty text.
local function optional(value)
  if value == '' then return nil end
  return number(value)
end
