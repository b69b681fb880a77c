-- Invariant: a lock under which nothing was started is released, and its tick is claimable again or has its entry.
-- ARGV: 1 run, 2 era, 3 whether the job was edited and the tick no longer exists, 4 channel of hints, 5 job.
if newer_schema() then return answer('newer_schema', record.schema) end
front = now + EARLY_TOLERANCE
if not record or record.run ~= ARGV[1] or record.phase ~= 'running' then return answer('already_decided') end

-- Ends the run: nothing was started.
local function release()
  record.phase = 'idle'
  record.stop = ''
  record.stop_for = ''
end

local remembers = ARGV[2] == era() and not may_have_lost_since_grant()
drop_mirror()
local manual = record.cause == 'manual'
-- A tick that has not come does not belong to a schedule that is over by now. It belongs to the next schedule, if that has it.
local ahead = not manual and now < record.tick
-- No replica would claim a tick of an older schedule again.
local edited = (ARGV[3] == '1' or not manual and record.tick <= record.since) and not ahead
-- A run that an operator stopped does not run on another replica either.
local killed = stop_reason(record.run) == 'operator'
local before = record['until']
local leaps, next, begins_open, is_later = leaps_of(), nil, false, false
for _, leap in ipairs(leaps) do
  local may_open = leap.passed == OPEN or leap.passed == ''
  if may_open and leap.after == record.tick then
    next = next or leap
    begins_open = begins_open or is_open(leap)
  end
  if may_open and record.tick and record.tick <= leap.after and leap.after <= front then is_later = true end
end
-- Whether no later tick was decided, except by a clock that was ahead. If the tick was the last one of its leap, nothing is
-- left of that leap: then no leap may begin between the tick and `front`.
local is_newest = record.tick == record.mark or begins_open
  or record.tick and record.tick <= front and front < record.mark and not is_later
if not manual and record.tick > record.mark then
  -- An operator has set back the mark since: the tick runs when it comes.
  release()
elseif record.cause == 'rerun' then
  -- The tick stays decided, as it was before the rerun. In another era, the rerun may have been granted to another replica as
  -- well: then none is left. The tick has the entry of its first run.
  record.phase = 'idle'
  record.tries = remembers and record.tries - 1 or math.max(record.tries - 1, TRIES)
  record.last = 'interrupted'
  record.reason = 'node_lost'
  forgo_rerun_if_stopped()
  record.stop = ''
  record.stop_for = ''
elseif is_newest and not manual and remembers and not edited and not killed then
  release()
  local earlier = record.tick - 1
  if record.tick == record.mark then
    record.mark = earlier
  else
    if next then
      next.after = earlier
      keep_leaps(leaps)
    else
      add_leap(earlier, record.tick, OPEN)
    end
  end
  forget_ran(function(leap) return leap.after < record.tick and record.tick <= leap.to end)
  open_again(record.tick, now + EARLY_TOLERANCE)
  -- A schedule that applied only after that tick, because the tick was decided, now applies from before it.
  record.since = math.min(record.since, earlier)
  hint = { channel = ARGV[4], job = ARGV[5], name = 'abandoned' }
elseif killed and (remembers or manual) then
  end_run('killed', 'operator', now)
elseif not remembers and (edited or not manual and are_leaps_full()) then
  -- The store may have forgotten that the tick ran on another replica. Without a place for its leap, a lost tick would have no
  -- entry.
  end_run('unknown', 'store_reset', now)
elseif not remembers and not manual then
  -- The tick is lost: it has no entry until a replica reports that it ran, or until a claim records it as forgotten.
  release()
  -- As where a tick is given back: the schedule may apply only after that tick because the tick was decided.
  record.since = math.min(record.since, record.tick - 1)
  -- If an operator had opened the tick, and the store forgot decisions since, a leap around the tick tells of it already.
  if not covering(record.tick) then add_leap(record.tick - 1, record.tick, LOST) end
  record.tick = nil
else
  end_run('missed', edited and 'edited' or 'abandoned', now)
end
-- Nothing ran, so nothing covered any later instant. How late a rerun may be counts from now.
record.started = nil
record.ended = has_rerun_left() and now or nil
-- After a loss of memory the wait continues: the store may have forgotten a later holder.
record['until'] = remembers and 0 or before
return answer('abandoned')
