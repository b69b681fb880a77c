-- Invariant: afterwards a record of this era has the schedule; one that was missing grants nothing before its wait is over.
-- A missing record of a job without a schedule is not created.
-- ARGV: 1 era, 2 heard, 3 largest lease, 4 seen, 5 sched, 6 since, 7 lease, 8 known;
-- 9 whether a pause or resume is known, 10-13 the latest one: at, until, by, why;
-- 14 the newest undecided tick of a former schedule, or empty, 15 after what, 16 how many; 17 heard in earlier eras; 18 wall,
-- 19 newest mark that an answer carried, 20 from when the clock leapt ahead;
-- 21 spans of ticks that are known to have run, oldest first: `after-to`; 22 whether no replica takes a longer lease any more,
-- 23 calm, 24 expect, 25 the record's `returns_ahead` when the caller learned of the ticks of 21; 26 largest fence.
if newer_schema() then return answer('newer_schema', record.schema) end
if era() ~= ARGV[1] then return answer('new_era', era()) end

local heard, largest, lease, earlier = number(ARGV[2]), number(ARGV[3]), number(ARGV[7]), number(ARGV[17])
local known = ARGV[8] == '1'
local answered, leapt, expect = optional(ARGV[19]), optional(ARGV[20]), number(ARGV[24])
front = math.max(now, number(ARGV[18])) + EARLY_TOLERANCE
if not record then
  if ARGV[5] == NO_SCHEDULE then return answer('opened', 0, '', '', '', '', '', '', '', 0) end
  -- No tick of an unknown job can have been decided, so the time that the clock showed before it was set back does not count.
  local wait = known and longest_of(lease, 0, largest) or FIRST_WAIT
  create(known and heard or earlier, wait, optional(ARGV[4]), known and leapt or not known and 0 or nil)
end
-- Takes ticks that the caller knows to be decided out of the leaps, unless they were opened again since: they keep their
-- entries when leaps are opened. Ticks that were opened since the store forgot them have lost their entries, and get new ones.
local ran, returns_ahead = {}, number(ARGV[25])
for after, to in string.gmatch(ARGV[21], '(%-?%d+)%-(%d+)') do
  local span = { after = number(after), to = number(to) }
  local is_newer = returns_ahead < record.returns_ahead and span.to <= record.returned_ahead
  local was_returned = span.to > front and (span.to <= record.returned or is_newer)
  if not was_returned then ran[#ran + 1] = span end
end
local function close_ahead(span)
  local leaps = record.leaps
  lose(span.after, span.to)
  except(span.after, span.to)
  if record.leaps ~= leaps then changed = true end
end
for _, span in ipairs(ran) do close_ahead(span) end
adopt_era(heard, earlier, largest, lease, leapt, expect)
fall_back(answered, largest, lease, leapt, expect)
raise_floor(number(ARGV[26]))
-- Extends the wait to the longest lease that the caller remembers: for a record that was never granted, and was created by
-- a caller that knew only shorter leases; and for one that waits for a holder that the store may have forgotten.
local remembered = longest_of(lease, 0, largest)
local is_made_anew = record.run == '' or record.phase ~= 'running' and record['until'] > now
if is_made_anew and remembered > math.max(lease, record.lease) then
  record['until'] = plus(record['until'], remembered - record.lease)
  record.lease, changed = remembered, true
end
-- Applies rule 4 again: the replica that opened the record first in this era may have known less of earlier ones.
recall_lost(optional(ARGV[4]))
-- Fences up to the time that was seen may have been granted and forgotten. If the clock shows more by now, new ones are
-- above them.
local shown = math.max(earlier, heard)
if shown > now and shown > record.floor then record.floor, changed = shown, true end
-- A time that only a clock that was ahead has shown is no news once the ticks up to it were opened again.
local is_opened = earlier > front and maybe_decided(earlier) <= record.returned_ahead
if earlier > 0 and not is_opened then
  local mark, lasts, told = record.mark, record.lease, maybe_decided(earlier)
  local is_ahead = mark > front
  if mark < told or is_ahead and decided_mark(front) < math.min(told, come_by(expect, leapt)) then
    wait_for_forgotten(largest, lease)
  end
  pass_unrecorded(told, leapt, expect)
  -- Once the caller has watched the store for as long as it remembers, the record tells the lease of the only holder.
  local is_known = record.phase == 'running' and number(ARGV[23]) >= remembered
  if record['until'] > 0 and not is_known then record.lease = longest_of(lease, record.lease, largest) end
  if record.mark ~= mark or record.lease ~= lasts then changed = true end
end
-- Forgets a lease that is longer than the caller's, if no replica takes one any more and the lock is free in this era, or a
-- wait for a forgotten holder is over: then no caller holds one. That wait ends earlier by the difference. A caller that still
-- remembers the longer lease adds the same difference again, if the record was never granted, and the wait stays over.
local calm = number(ARGV[23]) --[[protection: calm, off: MAX]]
local is_waited_for = record['until'] <= now and calm >= record.lease
local is_free = record.phase ~= 'running' and (record['until'] == 0 or is_waited_for)
if ARGV[22] == '1' and is_free and record.lease > lease then
  if record['until'] > 0 then record['until'] = math.max(record['until'] - (record.lease - lease), 1) end
  record.lease, changed = lease, true
end
-- Keeps the ticks decided that the caller knows to have run, if the store forgot them; also those that a clock which was
-- ahead decided.
for _, span in ipairs(ran) do
  local mark = record.mark
  if span.to > front then
    add_leap(math.max(record.mark, now + EARLY_TOLERANCE), span.after, OPEN)
    record.mark = math.max(record.mark, span.to)
  else
    pass_unrecorded_to(span.to, leapt)
  end
  if record.mark ~= mark then changed = true end
  close_ahead(span)
end
reopen()
recall_since(optional(ARGV[4]), ARGV[5], number(ARGV[6]))
local former = record.since
reschedule(ARGV[5], math.min(number(ARGV[6]), now))

-- Records the lost ticks of a schedule that has ended, where the record knows the ticks themselves: no replica will claim them.
if record.since ~= former then
  for _, tick in ipairs(take_lost_ticks(record.since)) do
    add_entry({ 'tick', tick, 'cause', 'schedule', 'outcome', 'unknown', 'reason', 'store_reset', 'finished', now })
  end
end

-- Records the ticks that the schedule before the record's left undecided: no replica will run them. While replicas that
-- know more may still report it, the tick may have run.
local dropped, is_unsettled = optional(ARGV[14]), unsettled()
local open = dropped and open_leap(dropped)
if dropped and (record.mark < dropped or open) and dropped <= record.since and is_under(ARGV[5]) then
  local from = open and open.after or record.mark
  if former < dropped then from = math.max(from, former) end
  local count = number(ARGV[15]) == from and ARGV[16] or ''
  add_entry({
    'tick', dropped, 'after', count ~= '1' and from or '', 'count', count ~= '1' and count or '',
    'cause', 'schedule', 'outcome', is_unsettled and 'unknown' or 'missed',
    'reason', is_unsettled and 'store_reset' or 'edited', 'finished', now,
  })
  decide(dropped)
end
if ARGV[9] == '1' then recall_pausing(optional(ARGV[11]), number(ARGV[10]), ARGV[12], ARGV[13]) end
if returns_ahead > record.returns_ahead then record.returns_ahead, changed = returns_ahead, true end
local leaps = leaps_of()
local last = 0
for _, leap in ipairs(leaps) do
  if leap.passed ~= RAN and (leap.passed ~= LOST or leap.to <= front) then last = leap.to end
end
local ahead = record.mark > front and last < record.mark
-- The newest tick that has not come yet and is not open.
local closed = record.mark
for at = #leaps, 1, -1 do
  local leap = leaps[at]
  if is_open(leap) and leap.after < closed and closed <= leap.to then closed = leap.after end
end
return answer('opened', record.since, text(record.paused_at), text(record.paused), record.paused_by, record.paused_why,
  ahead and last or '', ahead and record.mark or '', closed > front and closed or '', record.returns_ahead)
