-- Invariant: the lock is granted only when no other run may hold it. Shared by claim and manual.
-- ARGV: 1 node, 2 expect, 3 era, 4 calm, 5 heard, 6 largest lease, 7 seen, 8 run, 9 tick, 10 lease, 11 overlap, 12 newest mark
-- that an answer carried, 13 from when the clock leapt ahead.

local function holder_or_nothing()
  if record.phase ~= 'running' then return '', '', '' end
  return record.owner, record.run, record.started
end

local function decided(tick)
  if record.tick ~= tick then return answer('decided', '', '', '') end
  local last = record.last
  if last == '' and record.phase == 'running' then last = 'running' end
  return answer('decided', record.owner, last, record.reason)
end

local function longest_lease(bid)
  return longest_of(bid.lease, record.lease, bid.largest)
end

-- Applies rules 1 to 7; returns an answer if the request may not be considered.
local function enter(bid, when_created)
  if newer_schema() then return answer('newer_schema', record.schema) end
  if unsynced(bid.expect) then return answer('unsynced') end
  if era() ~= bid.era then return answer('new_era', era()) end
  if not record then
    local wait = longest_of(bid.lease, 0, bid.largest)
    create(bid.heard, wait, bid.seen, bid.leapt)
    raise_floor(bid.largest_fence)
    if when_created then when_created() end
    return answer('held', '', '', '', wait)
  end
  adopt_era(bid.heard, bid.heard, bid.largest, bid.lease, bid.leapt, bid.expect)
  fall_back(bid.answered, bid.largest, bid.lease, bid.leapt, bid.expect)
  raise_floor(bid.largest_fence)
  recall_lost(bid.seen)
  if record.run == bid.run then
    if record.phase ~= 'running' then return decided(bid.tick) end
    -- The grant may be of an earlier era: the store may have granted the lock to another run since, and forgotten that.
    local needed = longest_lease(bid)
    if bid.calm < needed then
      local node, run, since = holder_or_nothing()
      return answer('held', node, run, since, needed - bid.calm)
    end
    record['until'] = math.max(record['until'], plus(now, bid.lease))
    record.ended = now
    changed = true
    return answer('won', record.fence, record.tries, record.started or now)
  end
  local longest = longest_lease(bid)
  if bid.calm < longest then return nil end
  -- Rule 6. After this calm, a clock that was wrong only for a moment is right again, and shortens no wait.
  local began_ahead = record.settled and record.settled - now > SETTLING + longest
  local was_seen = began_ahead and record.settled <= plus(bid.heard, SETTLING)
  if record['until'] > plus(now, longest) then
    record['until'] = plus(now, longest)
    -- If the holder's last sign of life lies ahead by more than any clock drifts, the holder has given none since the clock
    -- was set back. That is as long as the caller is calm, if the caller saw the clock being set back from there. Else the
    -- clock may have been ahead for a moment only, between two readings: the holder lives. A wait without a holder is over as
    -- well, if it began before the caller saw the clock being set back.
    local alive = record.ended
    local is_silent = alive and alive - now > longest and alive <= bid.heard and bid.heard - alive <= longest
    local is_over = was_seen
    if record.phase == 'running' then is_over = is_silent end
    if is_over then record['until'] = now end
    changed = true
  end
  -- The time for reports of what the store forgot must not begin again when the clock reaches that time. It is over if the
  -- caller saw the clock being set back; else it may have begun just now.
  if began_ahead then record.settled, changed = was_seen and 0 or now + SETTLING, true end
  if record.phase == 'running' and record['until'] <= now then
    end_run('interrupted', 'node_lost', record.ended or record.started or now)
  end
  return nil
end

-- Returns for how long the interrupted tick may still be rerun, in ms; not above 0 if it may not. The time counts from the
-- last sign of life of its run: as long as a tick may be late, and one lease more, because that passes before a lost run is
-- known to be lost.
local function rerun_time_left(start_deadline)
  if record.phase == 'running' or not has_rerun_left() or not record.ended then return 0 end
  return record.lease + start_deadline - math.max(now - record.ended, 0)
end

-- Applies rules 12 and 13; returns 'free', 'covered', 'held' with its answer, or 'ahead': the conflict may be gone at the
-- instant.
local function contend(bid, rerun)
  local needed = record.run == '' and record.lease or longest_lease(bid)
  -- A sign of life later than now was recorded by a clock that was stepped back since: it covers nothing.
  local ended = record.ended and record.ended <= now and record.ended
  if record['until'] > 0 and (record['until'] > now or bid.calm < needed) then
    -- A run that began after the instant was not running at it, however long it lives.
    local began = record.started and record.started <= bid.instant
    local was_alive = began and ended and ended >= bid.instant --[[protection: living-holder, off: true]]
    local covers = record.phase == 'running' and was_alive
    if bid.overlap == 'skip' and covers and not rerun then
      return 'covered'
    end
    if bid.is_ahead then return 'ahead' end
    if bid.overlap == 'replace' and record.phase == 'running' and record.stop ~= record.run then
      record.stop, record.stop_for, record.stop_by = record.run, 'replaced', ''
      changed = true
    end
    local node, run, since = holder_or_nothing()
    local frees_in = math.max(math.min(record['until'] - now, needed), needed - bid.calm, 0)
    return 'held', answer('held', node, run, since, frees_in)
  end
  local covered = record.started and ended and record.started <= bid.instant and bid.instant < ended
  if bid.overlap == 'skip' and covered and not rerun then return 'covered' end
  -- A rerun goes first, unless the newer tick replaces it.
  local left = bid.overlap ~= 'replace' and bid.reruns_within and rerun_time_left(bid.reruns_within)
  if left and left > 0 and not rerun then
    if bid.is_ahead then return 'ahead' end
    return 'held', answer('held', '', '', '', left)
  end
  return 'free'
end

-- Rule 14: grants the lock.
local function grant(bid, cause)
  record.fence = math.max(math.max(record.fence, record.floor, bid.largest_fence) + 1, now, bid.heard)
  record.phase = 'running'
  record.run = bid.run
  record.tick = bid.tick
  record.cause = cause
  record.started = cause == 'manual' and now or math.max(now, math.min(bid.tick, now + EARLY_TOLERANCE))
  record.ended = record.started
  record.last = ''
  record.reason = ''
  -- A caller that has watched for long enough would have seen that a step back was undone.
  local heard = bid.calm < longest_lease(bid) and bid.heard or 0
  record['until'] = plus(math.max(now, heard), bid.lease)
  record.lease = bid.lease
  record.owner = bid.node
  record.stop = ''
  record.stop_for = ''
  changed = true
  return answer('won', record.fence, record.tries, record.started)
end

local function bid_from_argv(instant, largest_fence)
  local calm = number(ARGV[4]) --[[protection: calm, off: MAX]]
  return {
    node = ARGV[1], expect = number(ARGV[2]), era = ARGV[3], calm = calm, heard = number(ARGV[5]),
    largest = number(ARGV[6]), seen = optional(ARGV[7]), run = ARGV[8], tick = number(ARGV[9]),
    lease = number(ARGV[10]), overlap = ARGV[11], answered = optional(ARGV[12]), leapt = optional(ARGV[13]), instant = instant,
    largest_fence = largest_fence,
  }
end
