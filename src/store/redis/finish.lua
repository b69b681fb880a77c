-- Invariant: a run's end is recorded once, and only the holder's own lock is released.
-- ARGV: 1-9 holding; 10 attempt, 11 outcome, 12 reason, 13 exit code, 14 signal, 15 tail, 16 ended ago, 17 era.
if newer_schema() then return answer('newer_schema', record.schema) end

local mine = standing()
if mine == 'over' then return answer('already_decided') end
pass_maxmemory()
local ended = math.max(now - tonumber(ARGV[16]), holding.started)
if mine == 'forgotten' and held_by_another() then
  -- Two lives of the store gave the lock to two: the other, with the lower fence, learns of its loss when it renews.
  record.fence = holding.fence
  raise_mark()
else
  if mine == 'forgotten' then put_back() end
  -- After a loss of memory the wait goes on: a later holder may have been forgotten.
  if mine == 'mine' and ARGV[17] == era then record['until'] = 0 end
  record.phase = 'idle'
  record.last = ARGV[11]
  record.reason = ARGV[12]
  record.stop = ''
  record.ended = ended
end
add_entry({
  'tick', holding.tick, 'run', holding.run, 'node', holding.node, 'fence', holding.fence, 'attempt', ARGV[10],
  'cause', holding.cause, 'outcome', ARGV[11], 'reason', ARGV[12], 'exit_code', ARGV[13], 'signal', ARGV[14],
  'started', holding.started, 'finished', ended, 'tail', ARGV[15],
})
return answer('finished')
