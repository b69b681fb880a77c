-- Invariant: only the holder's own lock is renewed, and a store that forgot it gets it back.
-- ARGV: 1-10 holding; 11 expect, 12 from when the clock leapt ahead, 13 the tick before its own.
take_holding(ARGV[12], ARGV[13])
if newer_schema() then return answer('newer_schema', record.schema) end
if unsynced(number(ARGV[11])) then return answer('unsynced') end

local mine = standing()
if mine == 'over' then return answer('lost') end
-- Redis allows PEXPIRE at maxmemory, and then also the rest of the script.
redis.call('PEXPIRE', KEYS[2], text(holding.lease))
changed = true
if mine == 'forgotten' then
  -- Two eras granted the lock to two runs: the other holder learns of its loss when it renews, and stops.
  if held_by_another() then end_run('interrupted', 'lock_lost', now) end
  put_back()
  record.phase = 'running'
  record.last = ''
  record.reason = ''
  record.stop = ''
  record.stop_for = ''
end
-- Never earlier than before: a clock that was set back may be set right again.
record['until'] = math.max(record['until'], plus(now, holding.lease))
record.lease = holding.lease
record.ended = now
return answer('renewed', stop_reason(holding.run))
