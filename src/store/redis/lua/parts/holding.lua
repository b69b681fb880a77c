-- Invariant: acts only for the run and the fence that the lock was granted to. Shared by renew and finish.
-- ARGV: 1 run, 2 fence, 3 tick, 4 lease, 5 node, 6 cause, 7 tries, 8 started, 9 sched, 10 mark.
local holding
-- What was decided when the lock was granted, a manual run decides no tick; and the instant from which the clock leapt ahead.
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

-- Whether the tick is one of those that the store forgot, and has no entry.
local function is_untold()
  local tick = holding.tick
  if holding.cause == 'manual' or record.tick == tick or has_ran(tick) then return false end
  return record.lost and record.lost < tick and tick <= record.mark or lost_before(tick) ~= nil
end

-- The entry of its run is the tick's only one: it is none of those that were forgotten and have no entry, and in no leap that is
-- open again.
local function tell()
  local tick = holding.tick
  except(tick - 1, tick, true)
  if not record.lost or record.lost >= tick or tick > record.mark then return end
  local before = is_under(holding.sched) and holding.prev or tick - 1
  except(before, tick, true)
  add_leap(before, tick, RAN)
end

local function raise_mark()
  pass_unrecorded_to(decided_up_to, leapt)
  if holding.cause ~= 'manual' then tell() end
  -- Who opened the record may know a newer schedule than the run was started by.
  if record.sched == '' then record.sched = holding.sched end
end

-- Whether the store knows another run to hold the lock. Where that was granted what this one was granted later, and never
-- renewed it, nothing was started under it: it was given back, and the store forgot that.
local function held_by_another()
  if not record or record.phase ~= 'running' or record.run == holding.run then return false end
  local manual = holding.cause == 'manual' or record.cause == 'manual'
  return manual or record.tick ~= holding.tick or record.tries ~= holding.tries or record.ended ~= record.started
end

-- The era of a record that was missing stays another one: the next claim waits and raises the mark as after any loss.
local function put_back()
  if not record then
    record = empty()
    pass_unrecorded_to(decided_up_to, leapt)
    record.lost = nil
    record.sched = holding.sched
  end
  -- Opened by one who had not seen the ticks before; the holder had, up to its own.
  if is_as_made() and not record.lost and decided_up_to < record.mark then record.lost = decided_up_to end
  if holding.cause == 'manual' and record.order_at and record.order_at <= holding.started then
    -- It was taken by a run by hand after it was given: this one, unless that was `exec`.
    if record.order ~= '' then record.taken = record.order end
    record.order = ''
    record.taken_run = holding.run
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
