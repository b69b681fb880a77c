-- Invariant: ticks that the mark passed without deciding them stay known, so that a clock that was ahead takes no tick away.
-- The leaps of the record, oldest first; the caller may change each of them. A sign says what is known of a leap's ticks:
-- no sign (told): none ran, and all have their entry; `!` (open): they are open again;
-- `?` (lost): they were open when the store lost decisions, and may have run;
-- `=` (ran): the newest of them ran; the store had forgotten it among others, and its holder reported it again.
local OPEN, LOST, RAN = '!', '?', '='
local function leaps_of()
  local leaps = {}
  for after, to, passed in string.gmatch(record.leaps, '(%d+)%-(%d+)([!?=]?)') do
    leaps[#leaps + 1] = { after = number(after), to = number(to), passed = passed }
  end
  return leaps
end

local function keep_leaps(leaps)
  local texts = {}
  for _, leap in ipairs(leaps) do
    if leap.after < leap.to then
      texts[#texts + 1] = text(leap.after) .. '-' .. text(leap.to) .. leap.passed
    end
  end
  record.leaps = table.concat(texts, ' ')
end

-- Whether a new leap would displace one whose ticks would then have no entry, or two.
local function are_leaps_full()
  local kept = 0
  for _, leap in ipairs(leaps_of()) do
    if leap.passed ~= '' then kept = kept + 1 end
  end
  return kept >= KEPT_LEAPS
end

-- Drops leaps above the limit, the shortest told leap first: its ticks stay decided. Others are dropped only if no told
-- leap is left: their ticks would have no entry, or two.
local function forget_shortest(leaps)
  while #leaps > KEPT_LEAPS do
    local at = 1
    for other, leap in ipairs(leaps) do
      local least = leaps[at]
      local is_alike = (leap.passed == '') == (least.passed == '')
      local is_shorter = leap.to - leap.after < least.to - least.after
      if is_alike and is_shorter or leap.passed == '' and not is_alike then at = other end
    end
    table.remove(leaps, at)
  end
end

local function add_leap(after, to, passed)
  after = math.max(after, 0)
  if after >= to then return end
  local leaps, at = leaps_of(), 1
  while leaps[at] and leaps[at].after < after do at = at + 1 end
  local before = leaps[at - 1]
  if before and before.to == after and before.passed == passed and before.after > 0 then
    -- A leap that begins where another one ends is merged into it, except into the first one, before which no replica knew
    -- the job.
    before.to = to
  else
    table.insert(leaps, at, { after = after, to = to, passed = passed })
  end
  forget_shortest(leaps)
  keep_leaps(leaps)
end

-- Takes the ticks after one instant, up to another, out of the leaps of some kinds, and puts them into leaps of the kind `by`,
-- if there is one.
local function replace(after, to, is_one, by)
  local leaps = leaps_of()
  record.leaps = ''
  for _, leap in ipairs(leaps) do
    if is_one(leap.passed) then
      add_leap(leap.after, math.min(leap.to, after), leap.passed)
      if by then add_leap(math.max(leap.after, after), math.min(leap.to, to), by) end
      add_leap(math.max(leap.after, to), leap.to, leap.passed)
    else
      add_leap(leap.after, leap.to, leap.passed)
    end
  end
end

-- Takes the ticks after one instant, up to another, out of the leaps: they were decided. Lost leaps and ran leaps stay,
-- unless `are_told`: the ticks have their entry.
local function except(after, to, are_told)
  replace(after, to, function(passed) return are_told or passed ~= LOST and passed ~= RAN end)
end

-- Marks open leaps as lost after one instant, up to another: the store lost decisions, and any of these ticks may have been
-- decided.
local function lose(after, to)
  if not string.find(record.leaps, OPEN, 1, true) then return end
  local before = record.leaps
  replace(after, to, function(passed) return passed == OPEN end, LOST)
  if record.leaps ~= before then changed = true end
end

-- Returns the leap that covers a tick, if it is of this kind; of any kind, if none is given.
local function covering(tick, passed)
  for _, leap in ipairs(leaps_of()) do
    if (not passed or leap.passed == passed) and leap.after < tick and tick <= leap.to then return leap end
  end
  return nil
end

-- Returns the start of the lost leap that covers this tick: the ticks after it were lost and have no entry.
local function lost_before(tick)
  local leap = covering(tick, LOST)
  return leap and leap.after
end

-- Takes the lost ticks after one instant, up to another, out of their leaps: they get their entry.
local function tell_lost(after, to)
  local leaps = leaps_of()
  for _, leap in ipairs(leaps) do
    if leap.passed == LOST and after < leap.to then leap.after = math.max(leap.after, to) end
  end
  keep_leaps(leaps)
end

-- Takes out the lost leaps of one tick each, up to this instant, and returns these ticks.
local function take_lost_ticks(to)
  local leaps, ticks = leaps_of(), {}
  for _, leap in ipairs(leaps) do
    if leap.passed == LOST and leap.to - leap.after == 1 and leap.to <= to then
      ticks[#ticks + 1] = leap.to
      leap.after = leap.to
    end
  end
  keep_leaps(leaps)
  return ticks
end

-- Whether the tick ran, while ticks around it have no entry yet.
local function has_ran(tick)
  return covering(tick, RAN) ~= nil
end

-- Forgets ran leaps for which `is_over` returns true: all ticks up to them have their entry, or they did not run after all.
local function forget_ran(is_over)
  if not string.find(record.leaps, RAN, 1, true) then return end
  local leaps = leaps_of()
  for _, leap in ipairs(leaps) do
    if leap.passed == RAN and is_over(leap) then leap.to = leap.after end
  end
  keep_leaps(leaps)
end

-- Whether the leap is open: a told leap that lies ahead of every correct clock, below a mark that does so, too; or one that
-- was opened before, until a later tick is decided.
local function is_open(leap, shown)
  shown = shown or front
  return leap.passed == OPEN or leap.passed == '' and record.mark > shown and leap.to > shown
end

-- Returns the first open leap that ends after `opened`, or the one that covers a tick.
local function open_leap(tick, shown, opened)
  if record.leaps == '' then return nil end
  for _, leap in ipairs(leaps_of()) do
    if is_open(leap, shown) and (not opened or opened < leap.to) and (not tick or leap.after < tick and tick <= leap.to) then return leap end
  end
  return nil
end

-- Decides the tick. If it lies in an open leap, the mark stays, but the record is no longer as it was created.
local function decide(tick)
  if tick <= record.mark then record.made = 0 end
  local leaps = leaps_of()
  for _, leap in ipairs(leaps) do
    if leap.after < tick and tick <= leap.to then leap.after = tick end
  end
  keep_leaps(leaps)
  record.mark = math.max(record.mark, tick)
end

-- Returns the instant up to which every tick is decided, by a clock that shows no more than `shown`: the mark, or the start
-- of the first open leap. Leaps that end at or before `opened` are skipped: their ticks are known to be open.
local function decided_mark(shown, opened)
  shown = shown or front
  local leap = shown < MAX and record.schema <= SCHEMA and open_leap(nil, shown, opened)
  return leap and leap.after or record.mark
end

-- Returns an instant that no correct clock exceeds. A request without a wall clock uses the server's clock.
local function shown_at_most()
  return front < MAX and front or now + EARLY_TOLERANCE
end

-- Records that ticks up to this instant, which has not come, are open again.
local function open_again_ahead(instant)
  record.returned_ahead, record.returns_ahead = math.max(record.returned_ahead, instant), record.returns_ahead + 1
end

-- Records that the tick at this instant, which was decided, is open again, by a clock that shows no more than `shown`. If
-- the instant recorded before lies after that, it moves to `returned_ahead`: it says nothing about ticks that have come.
local function open_again(instant, shown)
  if record.returned > shown then
    open_again_ahead(record.returned)
    record.returned = 0
  end
  record.returned = math.max(record.returned, instant)
end

-- Returns the newest tick that has come by `shown`, was decided and is open again; 0 if there is none. Returns `shown`
-- itself if a told leap is just found to end after it.
local function opened_again(shown)
  if record.mark > shown and record.leaps ~= '' then
    for _, leap in ipairs(leaps_of()) do
      if leap.passed == '' and leap.to > shown then return shown end
    end
  end
  local returned = record.returned <= shown and record.returned or 0
  return record.returned_ahead <= shown and math.max(returned, record.returned_ahead) or returned
end

-- Opens leaps that lie ahead of every correct clock: their ticks have not come yet, and lose their entries. Of the first
-- leap, the part up to now stays passed.
local function reopen()
  local shown = shown_at_most()
  if record.mark <= shown or record.leaps == '' then return end
  local leaps = {}
  for _, leap in ipairs(leaps_of()) do
    if leap.passed == '' and leap.to > shown then
      changed = true
      retracted[#retracted + 1] = { after = leap.after, to = leap.to }
      -- Replicas that were told that these ticks are decided must not conclude that the store went back.
      open_again(math.min(leap.to, shown), shown)
      if leap.after == 0 then
        leaps[#leaps + 1] = { after = 0, to = now, passed = '' }
        leap.after = now
      end
      leap.passed = OPEN
    end
    leaps[#leaps + 1] = leap
  end
  forget_shortest(leaps)
  keep_leaps(leaps)
end
