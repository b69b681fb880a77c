-- Invariant: a lock under which nothing was started is released, and its tick is claimable again or has its entry.
-- ARGV: 1 run, 2 era, 3 whether its tick is none any more, 4 channel of hints, 5 job.
if newer_schema() then return answer('newer_schema', record.schema) end
if not record or record.run ~= ARGV[1] or record.phase ~= 'running' then return answer('already_decided') end

local remembers = ARGV[2] == era()
drop_mirror()
-- Of another schedule nobody would claim the tick again.
local edited = ARGV[3] == '1' or record.cause ~= 'manual' and record.tick <= record.since
local before = record['until']
if record.cause == 'rerun' and remembers then
  -- The tick stays decided, as it was before.
  record.phase = 'idle'
  record.tries = record.tries - 1
  record.last = 'interrupted'
  record.reason = 'node_lost'
  forgo_rerun_if_stopped()
  record.stop = ''
  record.stop_for = ''
elseif record.tick == record.mark and record.cause ~= 'manual' and remembers and not edited then
  record.phase = 'idle'
  record.stop = ''
  record.stop_for = ''
  record.mark = record.tick - 1
  hint = { channel = ARGV[4], job = ARGV[5], name = 'abandoned' }
else
  end_run('missed', edited and 'edited' or 'abandoned', now)
end
-- Nothing ran, so nothing covered any later instant. How late a rerun may be is counted anew.
record.started = nil
record.ended = has_rerun_left() and now or nil
-- After a loss of memory the wait goes on: a later holder may have been forgotten.
record['until'] = remembers and 0 or before
return answer('abandoned')
