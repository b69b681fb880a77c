-- Invariant: only the holder's own lock is renewed, and a store that forgot it is told.
-- ARGV: 1-10 holding; 11 expect.
if newer_schema() then return answer('newer_schema', record.schema) end
if unsynced(tonumber(ARGV[11])) then return answer('unsynced') end

local mine = standing()
if mine == 'over' then return answer('lost') end
pass_maxmemory()
if mine == 'forgotten' then
  -- Two lives of the store gave the lock to two: the other is told of its loss when it renews, and stops.
  if held_by_another() then end_run('interrupted', 'lock_lost', now) end
  put_back()
  record.phase = 'running'
  record.last = ''
  record.reason = ''
  record.stop = ''
end
record['until'] = plus(now, holding.lease)
record.lease = holding.lease
record.ended = now
return answer('renewed', record.stop == holding.run and '1' or '0')
