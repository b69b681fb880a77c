-- Invariant: an operator changes only a record that exists, and only on time; the mirror of the lock follows.
-- ARGV: 1 expect, 2 by, 3 act; from 4 on: what the act needs.
local by, act = ARGV[2], ARGV[3]
if newer_schema() then return answer('newer_schema', record.schema) end
if unsynced(number(ARGV[1])) then return answer('unsynced') end
if not record then return answer('no_record') end
-- set_mark, 4: the operator's wall clock. A mark that it has passed does not lie in the future.
local latest = act == 'set_mark' and math.max(now, number(ARGV[4])) or now
front = latest + EARLY_TOLERANCE

-- Records a pause or resume. It counts as later than the one before, whatever the clock shows.
local function say(said_until, why)
  recall_pausing(said_until, math.max(now, (record.paused_at or 0) + 1), by, why)
end

local function is_there(run)
  return record.phase == 'running' and (run == '' or record.run == run)
end

-- 4: the run; empty if no holder is known: then a wait for a holder that the store forgot ends.
if act == 'unlock' and ARGV[4] == '' then
  if record.phase == 'running' or record['until'] <= now then return answer('already_decided') end
  record['until'], changed = 0, true
  return answer('noted')
end

if (act == 'kill' or act == 'unlock') and not is_there(ARGV[4]) then return answer('already_decided') end
local alive = record.ended or record.started or now
-- A lock that ends later than its holder's last sign of life explains waits for a holder that the store forgot.
local waits_for_another = record['until'] > plus(alive, record.lease)
local is_heard = now - alive <= math.floor(record.lease / RENEWALS_PER_LEASE) + RENEWAL_ALLOWANCE
if act == 'unlock' and (waits_for_another or is_heard) then
  return answer('held', record.owner, record.run, record.started, math.max(record['until'] - now, 0))
end
if act == 'withdraw' and record.order ~= ARGV[4] then return answer('already_decided') end
if act == 'set_mark' and record.mark <= front then return answer('already_decided') end
-- An order that is open or was the last one taken is not given again.
if act == 'trigger' and (record.order == ARGV[4] or record.taken == ARGV[4]) then return answer('noted') end
if act == 'resume' and (not record.paused or record.paused <= now) then return answer('already_decided') end

drop_mirror()
if act == 'pause' then
  -- 4: for how long; empty: until the job is resumed. 5: why.
  local lasts = optional(ARGV[4])
  say(lasts and plus(now, lasts) or UNTIL_RESUMED, ARGV[5])
elseif act == 'unlock' then
  -- 4: the run.
  end_run('interrupted', 'node_lost', alive)
elseif act == 'trigger' then
  -- 4: the order. 5: its tick; empty: now.
  record.order, record.order_tick, record.order_at = ARGV[4], optional(ARGV[5]) or now, now
elseif act == 'withdraw' then
  -- 4: the order.
  record.order = ''
elseif act == 'set_mark' then
  -- What was decided about ticks that have come stays so, also between open leaps.
  reopen()
  local before, leaps = record.mark, leaps_of()
  open_again_ahead(before)
  record.mark = front
  for _, leap in ipairs(leaps) do leap.to = math.min(leap.to, front) end
  keep_leaps(leaps)
  if record.lost and record.lost >= front then record.lost = nil end
  if record.since > front then record.since = latest end
  -- The tick runs when it comes, and then is no rerun of the interrupted run.
  if record.tick and record.tick > front then record.tries = math.max(record.tries, TRIES) end
  retracted[#retracted + 1] = { after = front, to = before }
elseif act == 'resume' then
  say(nil, '')
else
  -- 4: the run; empty: whichever it is.
  record.stop, record.stop_for, record.stop_by = record.run, '', by
  return answer('held', record.owner, record.run, record.started, math.max(record['until'] - now, 0))
end
return answer('noted')
