-- Invariant: only the holder's own lock is renewed, and a store that forgot it is told.
-- ARGV: 1-9 holding; 10 expect.
if newer_schema() then return answer('newer_schema', record.schema) end
if unsynced(tonumber(ARGV[10])) then return answer('unsynced') end

local mine = standing()
if mine == 'over' then return answer('lost') end
pass_maxmemory()
if mine == 'forgotten' then
  put_back()
  record.phase = 'running'
  record.ended = nil
  record.last = ''
  record.reason = ''
  record.stop = ''
end
record['until'] = plus(now, holding.lease)
return answer('renewed', record.stop == holding.run and '1' or '0')
