-- Invariant: a tick at or below the mark is never granted, and every tick that the mark passes has an entry.
-- ARGV: 1-13 bid; 14 prev, 15 gap after, 16 gap count, 17 gap reason, 18 sched, 19 start deadline, 20 rerun policy, 21 catch-up,
-- 22 wall, 23 why the caller cannot run it, 24 newest tick up to gap after, 25 largest fence, 26 runs that live replicas list as
-- running, 27 as ended by themselves, 28 channel of hints, 29 job.
local tick = number(ARGV[9])
local bid = bid_from_argv(tick, number(ARGV[25]))
local prev, gap_after, gap_count, gap_reason = optional(ARGV[14]), optional(ARGV[15]), ARGV[16], ARGV[17]
local sched, start_deadline, wall = ARGV[18], number(ARGV[19]), number(ARGV[22])
local catch_up, unfit, gap_before = ARGV[21] == '1', ARGV[23], optional(ARGV[24])
front = math.max(now, wall) + EARLY_TOLERANCE
-- A replica that cannot run the job must not stop the current run.
if unfit ~= '' and bid.overlap == 'replace' then bid.overlap = 'wait' end
bid.reruns_within = ARGV[20] == 'rerun' and unfit == '' and start_deadline or nil

-- Handles a claim that found no record: if the mark now covers its tick, the tick may have been decided and forgotten.
local function remember_lost()
  if not record.lost and tick - 1 < record.mark then record.lost = tick - 1 end
  record.sched = sched
end

local refused = enter(bid, remember_lost)
if refused then return refused end
reopen()

-- A record that was created without a schedule gets the one of the first claim.
if record.sched == '' then
  record.sched = sched
  changed = true
end
recall_since(bid.seen, sched, gap_after)

-- Rule 8. Before its instant a tick is either granted, or nothing is decided about it yet.
local is_early = tick > now + EARLY_TOLERANCE --[[protection: early, off: false]]
if is_early then return answer('early', tick - now) end
local is_ahead = tick > now --[[protection: early, off: false]]
bid.is_ahead = is_ahead

-- Rule 9.
local paused = record.paused and now < record.paused
local rerun = bid.reruns_within and record.phase == 'idle' and record.tick == tick and has_rerun_left()
-- Whether the run was ended because its lock was over, and is one of these, which live replicas list. Where its own replica has
-- just recorded it as lost, after a restart, the list is older than the record.
local function is_lost_and_in(live)
  local is_listed = string.find(live, ' ' .. record.run .. ' ', 1, true) --[[protection: live-run, off: nil]]
  local has_just_ended = record.ended and record.ended <= now and now - record.ended < record.lease
  return record.reason == 'node_lost' and not has_just_ended and is_listed
end
local function refuses_rerun()
  return paused or not is_under(sched) or rerun_time_left(start_deadline) <= 0 or is_lost_and_in(ARGV[27])
end
if rerun and refuses_rerun() then
  -- The tick has its entry already; that it does not run again needs none.
  record.tries = math.max(record.tries, TRIES)
  changed = true
  return decided(tick)
end
if rerun and is_lost_and_in(ARGV[26]) then
  -- The run may yet end by itself. The time for its rerun passes meanwhile.
  return answer('held', '', '', '', RERUN_PAUSE)
end
-- Returns an answer while this tick, or one before it, may have run, and a replica that knows it may still report it.
local function wait_for_others()
  local left = unsettled()
  if not left then return nil end
  if is_ahead then return answer('early', tick - now) end
  local node, run, since = holder_or_nothing()
  return answer('held', node, run, since, left)
end

local is_decided = tick <= record.mark and not open_leap(tick) --[[protection: mark, off: false]]
if is_decided and not rerun then
  local function within_schedule(lost)
    lost = lost and math.max(lost, record.since)
    return lost and lost < tick and lost
  end
  local lost, in_leap = within_schedule(record.lost), within_schedule(lost_before(tick))
  local after = math.min(lost or MAX, in_leap or MAX)
  if after == MAX or record.tick == tick or has_ran(tick) then return decided(tick) end
  -- The mark was raised past the tick when the store forgot: it gets its entry here. `after` may lie within a lost leap.
  after = math.max(lost_before(after + 1) or after, record.since)
  local waits = wait_for_others()
  if waits then return waits end
  tell_lost(after, tick)
  -- In a record that was never granted, `lost` stays set: it says up to where ticks have their entry.
  if lost then record.lost = (tick < record.mark or is_as_made()) and tick or nil end
  add_entry({
    'tick', tick, 'after', is_under(sched) and after or '', 'cause', 'schedule', 'outcome', 'unknown',
    'reason', 'store_reset', 'finished', now,
  })
  part_at_leaps(prev)
  return answer('consumed', 'unknown', 'store_reset')
end

-- A tick in an open leap waits until the caller has watched a steady clock for the longest lease: the clock that shows that
-- the mark lies ahead may be the wrong one.
if open_leap(tick) and bid.calm < longest_lease(bid) and not rerun then
  if is_ahead then return answer('early', tick - now) end
  local node, run, since = holder_or_nothing()
  return answer('held', node, run, since, longest_lease(bid) - bid.calm)
end

-- Adds the entry for the ticks of a leap, if the schedule, which applies since `record.since`, has any there before the
-- claimed one.
local function tell_passed(leap)
  local after, newest = math.max(leap.after, record.since), leap.to
  if prev <= leap.to then newest = prev elseif gap_after == leap.to then newest = gap_before end
  if not newest or newest <= after then return end
  local may_have_run = leap.passed == LOST
  add_entry({
    'tick', newest, 'after', after, 'count', gap_after == after and newest == prev and gap_count or '', 'cause', 'schedule',
    'outcome', may_have_run and 'unknown' or 'missed', 'reason', may_have_run and 'store_reset' or gap_reason, 'finished', now,
  })
end

-- Records the ticks between the mark and the claimed one that no replica claimed, or that the store forgot.
local function pass_over(leaps, marked, is_joined)
  local lost = marked
  if record.lost and record.lost < tick then
    lost = math.min(math.max(record.lost, record.since), marked)
    -- If the tick lies in an open leap, ticks after it that the store forgot still need their entry.
    record.lost = tick < record.mark and tick or nil
  end
  local passed, is_untold = {}, false
  -- Merges leaps that lie right after each other, if the same is known of their ticks.
  local function pass(after, to, how)
    local last = passed[#passed]
    if after >= to then return end
    if last and last.to == after and last.passed == how then
      last.to = to
    else
      passed[#passed + 1] = { after = after, to = to, passed = how }
    end
  end
  for _, leap in ipairs(leaps) do
    is_joined = is_joined or leap.to == marked
    if (leap.passed == OPEN or leap.passed == LOST) and leap.to < tick then
      is_untold = true
      pass(leap.after, math.min(leap.to, lost), leap.passed)
      -- A lost leap is removed, by making it empty: its ticks are decided.
      if leap.passed == LOST then leap.after = leap.to end
      leap.passed = ''
    end
  end
  if not is_under(sched) then return end
  if record.since <= marked and lost == marked and not is_joined and not is_untold then follows = marked end
  if not prev then return end
  -- The store may have lost decisions up to `marked`, and none after it.
  pass(lost, marked, LOST)
  pass(marked, prev, OPEN)
  for _, leap in ipairs(passed) do tell_passed(leap) end
end

-- Decides the tick, and records the ticks that the mark passes. None of the ticks up to `idle` ran. If the caller has not
-- watched the clock for all of that time, they become a leap: the clock may have jumped over them, without the time having
-- passed.
local function raise_mark(by, how, why, idle)
  local leap, leaps = open_leap(tick), leaps_of()
  local marked = leap and leap.after or record.mark
  local after = math.max(marked, record.since)
  local is_vouched = math.abs(now - bid.expect) <= SYNC_TOLERANCE and number(ARGV[4]) >= math.max(now - after, 0)
  local leapt = idle and not is_vouched and after < idle
  pass_over(leaps, marked, leapt)
  keep_leaps(leaps)
  decide(tick)
  if leapt then add_leap(after, idle, '') end
  record.sched = sched
  part_at_leaps(nil)
  if not record.lost then forget_ran(function(leap) return leap.to < tick end) end
  local is_worth_telling = true --[[protection: mark, off: false]]
  hint = is_worth_telling and { channel = ARGV[28], job = ARGV[29], name = 'decided', by, how, why } or nil
end

local function consume(outcome, reason)
  local waits = wait_for_others()
  if waits then return waits end
  raise_mark('', outcome, reason, not (outcome == 'skipped' and reason == 'overlap') and tick or prev)
  -- All ticks up to the mark have their entries or are known to be lost: a replica that remembers an older mark has nothing
  -- to report.
  if record.run == '' then record.lost = record.lost or record.mark end
  add_entry({
    'tick', tick, 'cause', catch_up and 'catch_up' or 'schedule', 'outcome', outcome, 'reason', reason,
    'finished', now,
  })
  -- An entry for ticks that were passed over can be joined if these ticks come right before this one.
  local passed = entries[#entries - 1]
  local is_before = passed and prev and tonumber(value_of(passed, 'tick')) == prev
  local both = is_before and joined(passed, entries[#entries])
  -- One entry for ticks in a leap and outside of it could not be withdrawn with the leap.
  local after = both and tonumber(value_of(both, 'after'))
  if both and last_part(after, tick) == after then
    table.remove(entries)
    entries[#entries] = both
  end
  return answer('consumed', outcome, reason)
end

-- Rules 10 and 11.
local lateness = math.max(math.min(now, wall) - tick, 0)
-- While the job is paused, a replica that cannot run it records no miss: the tick is skipped for the pause.
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
raise_mark(bid.node, 'running', '', prev)
return grant(bid, catch_up and 'catch_up' or 'schedule')
