-- Invariant: a tick at or below the mark is never granted, and every tick that the mark passes has an entry.
-- ARGV: 1-11 bid; 12 prev, 13 gap after, 14 gap count, 15 gap reason, 16 sched, 17 start deadline, 18 rerun policy,
-- 19 catch-up, 20 wall, 21 why the caller cannot run it, 22 channel of hints, 23 job.
local tick = number(ARGV[9])
local bid = bid_from_argv(tick)
local prev, gap_after, gap_count, gap_reason = optional(ARGV[12]), optional(ARGV[13]), ARGV[14], ARGV[15]
local sched, start_deadline, wall = ARGV[16], number(ARGV[17]), number(ARGV[20])
local catch_up, unfit = ARGV[19] == '1', ARGV[21]
-- Who would not run itself has nothing stopped.
if unfit ~= '' and bid.overlap == 'replace' then bid.overlap = 'wait' end
bid.reruns_within = ARGV[18] == 'rerun' and unfit == '' and start_deadline or nil

-- A claim that finds no record: its own tick may have been forgotten, if the mark then covers it.
local function remember_lost()
  if not record.lost and tick - 1 < record.mark then record.lost = tick - 1 end
  record.sched = sched
end

local refused = enter(bid, remember_lost)
if refused then return refused end

-- A record that was made by a request without a schedule has that of the first claim.
if record.sched == '' then
  record.sched = sched
  changed = true
end

-- Rule 8. Ahead of its instant a tick is granted, or nothing is decided of it yet.
local is_early = tick > now + EARLY_TOLERANCE --[[protection: early, off: false]]
if is_early then return answer('early', tick - now) end
local is_ahead = tick > now --[[protection: early, off: false]]
bid.is_ahead = is_ahead

-- Rule 9.
local paused = record.paused and now < record.paused
local rerun = bid.reruns_within and record.phase == 'idle' and record.tick == tick and has_rerun_left()
if rerun and (paused or not is_under(sched) or rerun_time_left(start_deadline) <= 0) then
  -- The tick has its record already; that it does not run again needs none.
  record.tries = math.max(record.tries, TRIES)
  changed = true
  return decided(tick)
end
local is_decided = tick <= record.mark --[[protection: mark, off: false]]
if is_decided and not rerun then
  local after = record.lost and math.max(record.lost, record.since)
  if not after or after >= tick or record.tick == tick then return decided(tick) end
  -- The mark was raised past the tick when the store forgot, and this is its entry.
  -- Of a record that was never granted it stays known up to where ticks were told of.
  record.lost = (tick < record.mark or record.run == '') and tick or nil
  add_entry({
    'tick', tick, 'after', is_under(sched) and after or '', 'cause', 'schedule', 'outcome', 'unknown',
    'reason', 'store_reset', 'finished', now,
  })
  return answer('consumed', 'unknown', 'store_reset')
end

-- Records the ticks between the mark and the claimed one, which nobody claimed, or which the store forgot.
local function pass_over()
  local lost = record.lost and math.max(record.lost, record.since)
  if lost and lost >= record.mark then lost = nil end
  local after = lost or math.max(record.mark, record.since)
  record.lost = nil
  if after == record.mark and is_under(sched) then follows = after end
  if not prev or prev <= after or not is_under(sched) then return end
  add_entry({
    'tick', prev, 'after', after, 'count', gap_after == after and gap_count or '', 'cause', 'schedule',
    'outcome', lost and 'unknown' or 'missed', 'reason', lost and 'store_reset' or gap_reason, 'finished', now,
  })
end

local function raise_mark(by, how, why)
  pass_over()
  record.mark = math.max(record.mark, tick)
  record.sched = sched
  local is_worth_telling = true --[[protection: mark, off: false]]
  hint = is_worth_telling and { channel = ARGV[22], job = ARGV[23], name = 'decided', by, how, why } or nil
end

local function consume(outcome, reason)
  -- It, or a tick before it, may have run, and whoever knows has yet to tell.
  local left = (record.settled or 0) - now
  if left > 0 and left <= SETTLING then
    local node, run, since = holder_or_nothing()
    return answer('held', node, run, since, left)
  end
  raise_mark('', outcome, reason)
  -- Whoever has seen less than this mark knows nothing of ticks that nobody was told of.
  if record.run == '' then record.lost = record.mark end
  add_entry({
    'tick', tick, 'cause', catch_up and 'catch_up' or 'schedule', 'outcome', outcome, 'reason', reason,
    'finished', now,
  })
  -- Ticks passed over for the same reason are those right before it.
  local both = #entries > 1 and joined(entries[#entries - 1], entries[#entries])
  if both then
    table.remove(entries)
    entries[#entries] = both
  end
  return answer('consumed', outcome, reason)
end

-- Rules 10 and 11.
local lateness = math.max(math.min(now, wall) - tick, 0)
-- A paused job misses nobody who could run it.
local is_missed = lateness > start_deadline and not (paused and unfit ~= '')
if not rerun then
  local is_edited = catch_up and (tick <= record.since or not is_under(sched))
  if is_ahead and (is_missed and not catch_up or is_edited or paused) then return answer('early', tick - now) end
  if is_missed and not catch_up then return consume('missed', unfit ~= '' and unfit or 'late') end
  if is_edited then return consume('missed', 'edited') end
  if paused then return consume('skipped', 'paused') end
end

local standing, held = contend(bid, rerun)
if is_ahead and standing ~= 'free' then return answer('early', tick - now) end
if standing == 'held' then return held end
if standing == 'covered' then return consume('skipped', 'overlap') end
if unfit ~= '' then return answer('early', math.max(start_deadline + 1 - lateness, 0)) end

if rerun then
  record.tries = record.tries + 1
  return grant(bid, 'rerun')
end
record.tries = 1
raise_mark(bid.node, 'running', '')
return grant(bid, catch_up and 'catch_up' or 'schedule')
