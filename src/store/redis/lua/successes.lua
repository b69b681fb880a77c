-- Invariant: the instants of successes never go back. Included in every script that decides requests: the rules
-- and usual_finish.lua count entries by this alone.

-- The outcomes that count as failures. Skipped ticks and killed runs tell nothing about the job.
local FAILURES = { failed = true, timed_out = true, interrupted = true, missed = true, unknown = true }

-- Whether `ended` is before `other`. An instant later than now was recorded by a clock that was set back since:
-- nothing is before it.
local function is_before(ended, other)
  return other and ended < other and other <= now
end

-- Returns `ok`, `ok_at`, `bad` and `bad_since` of a record with one more entry, which stands for so many ticks. A
-- success that is reported late, and ended before the first failure, ends no row of failures. A failure that is
-- reported late, and ended before the newest success, does not count.
local function counted(ok, ok_at, bad, bad_since, tick, outcome, ended, ticks)
  if outcome == 'succeeded' then
    ok, ok_at = math.max(ok or tick, tick), math.max(ok_at or ended, ended)
    if not is_before(ended, bad_since) then bad, bad_since = 0, nil end
  elseif FAILURES[outcome] and not is_before(ended, ok_at) then
    bad, bad_since = plus(bad, ticks), bad_since or ended
  end
  return ok, ok_at, bad, bad_since
end
