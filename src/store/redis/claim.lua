-- Invariant: a tick at or below the mark is never granted, and every tick that the mark passes has an entry.
-- ARGV: 1-11 bid; 12 prev, 13 gap mark, 14 gap count, 15 gap reason, 16 sched, 17 start deadline, 18 rerun policy,
-- 19 catch-up, 20 wall.
local tick = tonumber(ARGV[9])
local bid = bid_from_argv(tick)
local prev, gap_mark, gap_count, gap_reason = optional(ARGV[12]), optional(ARGV[13]), ARGV[14], ARGV[15]
local sched, start_deadline, wall = ARGV[16], tonumber(ARGV[17]), tonumber(ARGV[20])
local catch_up = ARGV[19] == '1'

-- A claim that finds no record: its own tick may have been forgotten, if the mark then covers it.
local function remember_lost()
  if not record.lost and tick - 1 < record.mark then record.lost = tick - 1 end
  record.sched = sched
end

local refused = enter(bid, remember_lost)
if refused then return refused end

-- Rule 8.
if tick > now + EARLY_TOLERANCE then return answer('early', tick - now) end

-- Rule 9.
local rerun = ARGV[18] == 'rerun' and record.phase == 'idle' and record.tick == tick and record.cause ~= 'manual'
  and record.last == 'interrupted' and record.tries == 1
local is_decided = tick <= record.mark --[[protection: mark]]
if is_decided and not rerun then
  local after = record.lost
  if not after or after >= tick or record.tick == tick then return decided(tick) end
  -- The mark was raised past the tick when the store forgot, and this is its entry.
  record.lost = tick < record.mark and tick or nil
  add_entry({
    'tick', tick, 'after', is_under(sched) and after or '', 'cause', 'schedule', 'outcome', 'unknown',
    'reason', 'store_reset', 'finished', now,
  })
  return answer('consumed', 'unknown', 'store_reset')
end

-- Records the ticks between the mark and the claimed one, which nobody claimed, or which the store forgot.
local function pass_over()
  local lost, after = record.lost, record.lost or record.mark
  record.lost = nil
  if not prev or prev <= after or not is_under(sched) then return end
  add_entry({
    'tick', prev, 'after', after, 'count', gap_mark == after and gap_count or '', 'cause', 'schedule',
    'outcome', lost and 'unknown' or 'missed', 'reason', lost and 'store_reset' or gap_reason, 'finished', now,
  })
end

local function raise_mark()
  pass_over()
  record.mark = math.max(record.mark, tick)
  record.sched = sched
end

local function consume(outcome, reason)
  if rerun then return decided(tick) end
  raise_mark()
  add_entry({
    'tick', tick, 'cause', catch_up and 'catch_up' or 'schedule', 'outcome', outcome, 'reason', reason,
    'finished', now,
  })
  return answer('consumed', outcome, reason)
end

-- Rules 10 and 11.
if math.min(now, wall) - tick > start_deadline and not catch_up and not rerun then return consume('missed', 'late') end
if catch_up and not is_under(sched) then return consume('missed', 'edited') end
if record.paused and now < record.paused then return consume('skipped', 'paused') end

local standing, held = contend(bid, rerun)
if standing == 'held' then return held end
if standing == 'covered' then return consume('skipped', 'overlap') end

if rerun then
  record.tries = record.tries + 1
  return grant(bid, 'rerun')
end
record.tries = 1
raise_mark()
return grant(bid, catch_up and 'catch_up' or 'schedule')
