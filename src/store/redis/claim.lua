-- Invariant: a tick at or below the mark is never granted, and every tick that the mark passes has an entry.
-- ARGV: 1-10 bid; 11 prev, 12 gap mark, 13 gap count, 14 gap reason, 15 sched, 16 start deadline, 17 rerun policy,
-- 18 catch-up, 19 wall.
local tick = tonumber(ARGV[8])
local prev, gap_mark, gap_count, gap_reason = optional(ARGV[11]), optional(ARGV[12]), ARGV[13], ARGV[14]
local sched, start_deadline, wall = ARGV[15], tonumber(ARGV[16]), tonumber(ARGV[19])
local catch_up = ARGV[18] == '1'
local bid = bid_from_argv(tick, sched, gap_mark or tick - 1)

local refused = enter(bid)
if refused then return refused end

-- Rule 8.
if tick > now + EARLY_TOLERANCE then return answer('early', tick - now) end

-- Rule 9.
local rerun = ARGV[17] == 'rerun' and record.phase == 'idle' and record.tick == tick and record.cause ~= 'manual'
  and record.last == 'interrupted' and record.tries == 1
local is_decided = tick <= record.mark --[[protection: mark]]
if is_decided and not rerun then
  local after = record.lost
  if not after or after >= tick or record.tick == tick then return decided(tick) end
  -- The mark was raised past the tick when the store forgot, and this is its entry.
  record.lost = tick < record.mark and tick or nil
  add_entry({
    'tick', tick, 'after', record.sched == sched and after or '', 'cause', 'schedule', 'outcome', 'unknown',
    'reason', 'store_reset', 'finished', now,
  })
  return answer('consumed', 'unknown', 'store_reset')
end

-- Records the ticks between the mark and the claimed one, which nobody claimed, or which the store forgot.
local function pass_over()
  local lost, after = record.lost, record.lost or record.mark
  record.lost = nil
  if not prev or prev <= after or record.sched ~= sched then return end
  add_entry({
    'tick', prev, 'after', after, 'count', gap_mark == after and gap_count or '', 'cause', 'schedule',
    'outcome', lost and 'unknown' or 'missed', 'reason', lost and 'store_reset' or gap_reason, 'finished', now,
  })
end

local function consume(outcome, reason)
  if rerun then return decided(tick) end
  pass_over()
  add_entry({
    'tick', tick, 'cause', catch_up and 'catch_up' or 'schedule', 'outcome', outcome, 'reason', reason,
    'finished', now,
  })
  record.mark = math.max(record.mark, tick)
  record.sched = sched
  return answer('consumed', outcome, reason)
end

-- Rules 10 and 11.
if math.min(now, wall) - tick > start_deadline and not catch_up and not rerun then return consume('missed', 'late') end
if catch_up and record.sched ~= sched then return consume('missed', 'edited') end
if record.paused and now < record.paused then return consume('skipped', 'paused') end

local standing, held = contend(bid, rerun)
if standing == 'held' then return held end
if standing == 'covered' then return consume('skipped', 'overlap') end

pass_over()
record.tries = rerun and record.tries + 1 or 1
record.mark = math.max(record.mark, tick)
record.sched = sched
return grant(bid, rerun and 'rerun' or catch_up and 'catch_up' or 'schedule')
