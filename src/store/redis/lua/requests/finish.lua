-- Invariant: a run's end is recorded once, and only the holder's own lock is released.
-- ARGV: 1-10 holding; 11 attempt, 12 outcome, 13 reason, 14 exit code, 15 signal, 16 tail, 17 ended, 18 era, 19 from when
-- the clock leapt ahead, 20 the tick before its own.
take_holding(ARGV[19], ARGV[20])
if newer_schema() then return answer('newer_schema', record.schema) end

local mine = standing()
-- The end of a later run may have been reported before this one.
if mine == 'over' and not is_untold() then
  local is_cut_short = record.phase == 'idle' and record.run == holding.run and has_rerun_left()
  if is_cut_short and ARGV[12] ~= 'interrupted' and ARGV[12] ~= 'unknown' then
    -- It was taken for lost, and ended by itself.
    record.tries = math.max(record.tries, TRIES)
    changed = true
  end
  return answer('already_decided')
end
local ended = math.max(math.min(number(ARGV[17]), now), holding.started)
-- If the lock is another run's by now, its mirror stays.
if mine ~= 'over' then drop_mirror() end
if mine == 'over' then
  tell()
  changed = true
elseif mine == 'forgotten' and held_by_another() then
  -- Two eras granted the lock to two runs. The other run, with the lower fence, learns of its loss when it renews or claims
  -- again; until then no other run is granted the lock.
  local before = record['until']
  -- As far as the store knows, the other run covered no instant after its last sign of life.
  end_run('interrupted', 'lock_lost', record.ended or record.started or now)
  record['until'] = before
  record.fence = holding.fence
  -- The other run may have ended well, and the store may have forgotten that.
  record.tries = math.max(record.tries, TRIES)
  raise_mark()
else
  if mine == 'forgotten' then
    put_back()
    -- The store may have forgotten a rerun together with the run.
    record.tries = math.max(record.tries, TRIES)
  end
  -- After a loss of memory the wait continues: the store may have forgotten a later holder. If the record is of the era in
  -- which the lock was confirmed, and the server is in another, the next claim waits in any case. Without an era the
  -- replica knows that the store may have forgotten since. A store that went back within the era waits since then, unless
  -- the holder has renewed the lock since.
  local is_confirmed = ARGV[18] ~= '' and ARGV[18] == record.era and not may_have_lost_since_last_sign()
  if mine == 'mine' and is_confirmed then record['until'] = 0 end
  -- A finish that was reconstructed after a crash may carry an older end than the last sign of life in the record.
  if mine == 'mine' and ARGV[12] == 'interrupted' and record.ended and record.ended <= now then
    ended = math.max(ended, record.ended)
  end
  record.phase = 'idle'
  record.last = ARGV[12]
  record.reason = ARGV[13]
  forgo_rerun_if_stopped()
  record.stop = ''
  record.stop_for = ''
  record.ended = ended
end
-- Without an era this may be a repeated finish, sent to a record that went back while the history did not.
if mine == 'mine' and ARGV[18] ~= '' then ends = holding.run end
add_entry({
  'tick', holding.tick, 'run', holding.run, 'node', holding.node, 'fence', holding.fence, 'attempt', ARGV[11],
  'cause', holding.cause, 'outcome', ARGV[12], 'started', holding.started, 'finished', ended,
  'reason', ARGV[13], 'exit_code', ARGV[14], 'signal', ARGV[15], 'tail', ARGV[16],
})
return answer('finished')
