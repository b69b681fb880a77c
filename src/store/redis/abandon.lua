-- Invariant: a lock under which nothing was started is released, and its tick is claimable again or has its entry.
-- ARGV: 1 run, 2 era, 3 whether its tick is none any more.
if newer_schema() then return answer('newer_schema', record.schema) end
if not record or record.run ~= ARGV[1] or record.phase ~= 'running' then return answer('already_decided') end

redis.call('DEL', KEYS[2])
changed = true
local remembers, edited = ARGV[2] == era, ARGV[3] == '1'
local before = record['until']
if record.tick == record.mark and record.cause ~= 'manual' and remembers
  and (not edited or record.tries > 1) then
  record.phase = 'idle'
  record.stop = ''
  record.stop_for = ''
  if record.tries > 1 then
    record.tries = record.tries - 1
    record.last = 'interrupted'
    record.reason = 'node_lost'
  else
    record.mark = record.tick - 1
  end
else
  end_run('missed', edited and 'edited' or 'abandoned', now)
end
-- Nothing ran, so nothing covered any later instant.
record.started = nil
record.ended = nil
-- After a loss of memory the wait goes on: a later holder may have been forgotten.
record['until'] = remembers and 0 or before
return answer('abandoned')
