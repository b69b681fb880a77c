-- Invariant: acts only for the run and the fence that the lock was granted to. Shared by renew and finish.
-- ARGV: 1 run, 2 fence, 3 tick, 4 lease, 5 node, 6 cause, 7 tries, 8 started, 9 sched, 10 mark.
local holding
-- The mark of the grant, which includes the tick unless the run is manual; and the instant from which the clock leapt ahead.
local decided_up_to, leapt

local function take_holding(since, prev)
  holding = {
    run = ARGV[1], fence = number(ARGV[2]), tick = number(ARGV[3]), lease = number(ARGV[4]), node = ARGV[5],
    cause = ARGV[6], tries = number(ARGV[7]), started = number(ARGV[8]), sched = ARGV[9],
    prev = optional(prev),
  }
  decided_up_to, leapt = number(ARGV[10]), optional(since)
  if holding.cause ~= 'manual' then decided_up_to = math.max(decided_up_to, holding.tick) end
end

local function standing()
  if not record or record.fence < holding.fence then return 'forgotten' end
  local is_holder = record.run == holding.run and record.fence == holding.fence --[[protection: holder-check, off: true]]
  if is_holder and record.phase == 'running' then return 'mine' end
  return 'over'
end

-- Whether the record names the same try of the same tick.
local function is_same_try()
  local manual = holding.cause == 'manual' or record.cause == 'manual'
  return not manual and record.tick == holding.tick and record.tries == holding.tries
end

-- Whether the store forgot this grant, and granted the same try to another run, which is running as far as it knows.
local function was_granted_again()
  return record.phase == 'running' and record.run ~= holding.run and is_same_try() and may_have_lost_since_grant()
end

-- Whether the store forgot the tick, and it has no entry.
local function is_untold()
  local tick = holding.tick
  if holding.cause == 'manual' or has_ran(tick) then return false end
  if record.tick == tick then return was_granted_again() end
  return record.lost and record.lost < tick and tick <= record.mark or lost_before(tick) ~= nil
end

-- Records that the tick's only entry is the one of its run: it is no forgotten tick without an entry, and lies in no open leap.
local function tell()
  local tick = holding.tick
  except(tick - 1, tick, true)
  if tick > record.mark then return end
  -- The tick needs no other entry if the run that the record names is abandoned.
  local is_alone = was_granted_again()
  if not is_alone and (not record.lost or record.lost >= tick) then return end
  local before = not is_alone and is_under(holding.sched) and holding.prev or tick - 1
  except(before, tick, true)
  add_leap(before, tick, RAN)
end

local function raise_mark()
  pass_unrecorded_to(decided_up_to, leapt)
  if holding.cause ~= 'manual' then tell() end
  -- The replica that opened the record may know a newer schedule than the one that started the run.
  if record.sched == '' then record.sched = holding.sched end
end

-- Whether the store names another run as the holder. A run does not count that was granted the same try of the same tick
-- before this one and never renewed the lock: nothing was started under it. It was abandoned, and the store forgot that.
local function held_by_another()
  if not record or record.phase ~= 'running' or record.run == holding.run then return false end
  return not is_same_try() or record.ended ~= record.started
end

-- Puts back what the store forgot. A record that was missing gets no era: the next claim waits and raises the mark, as
-- after any loss.
local function put_back()
  if not record then
    record = empty()
    pass_unrecorded_to(decided_up_to, leapt)
    record.settled = plus(now, SETTLING)
    record.lost = nil
    record.sched = holding.sched
  end
  -- The record was opened by a replica that had not seen the earlier ticks. The holder had seen them, up to its own.
  if is_as_made() and not record.lost and decided_up_to < record.mark then record.lost = decided_up_to end
  if holding.cause == 'manual' and record.order ~= '' and record.order_at and record.order_at <= holding.started then
    -- A manual run took the order after it was given: this one, unless this one is `exec`.
    record.order, record.taken, record.taken_run = '', record.order, holding.run
  end
  record.fence = holding.fence
  record.run = holding.run
  record.tick = holding.tick
  record.tries = holding.tries
  record.cause = holding.cause
  record.started = holding.started
  record.lease = math.max(record.lease, holding.lease)
  record.owner = holding.node
  raise_mark()
end
