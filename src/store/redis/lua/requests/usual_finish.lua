-- Invariant: ends only what the rules of finish.lua end, and then writes and answers the same. The rules decide all but the
-- plain end of the run that holds the lock.
-- ARGV: as in finish.lua.
local MAY_BE_ABSENT = { 'reason', 'exit_code', 'signal', 'tail' }

function usual(key, arg)
  local state, run, fence, outcome = all_keys[key + 1], all_args[arg + 1], all_args[arg + 2], all_args[arg + 12]
  if outcome == 'interrupted' then return end
  local schema, life, phase, holder, granted, mark, lease, stop, stop_for, ok, ok_at, bad, bad_since, alive, settled =
    peek(state, 'schema', 'era', 'phase', 'run', 'fence', 'mark', 'lease', 'stop', 'stop_for', 'ok', 'ok_at', 'bad',
      'bad_since', 'ended', 'settled')
  if tonumber(schema) ~= SCHEMA or phase ~= 'running' or holder ~= run or granted ~= fence then return end
  if life ~= all_args[arg + 18] or life == '' then return end
  if (stop or '') ~= '' or (stop_for or '') ~= '' then return end
  -- Since the last sign of life the record may have waited for reports of what the server forgot.
  if (number(settled or '') or 0) - SETTLING > (number(alive or '') or number(all_args[arg + 8])) then return end

  local started = all_args[arg + 8]
  local at = math.max(math.min(number(all_args[arg + 17]), now), number(started))
  local ended = text(at)
  ok, ok_at, bad, bad_since = counted(number(ok), number(ok_at), number(bad) or 0, number(bad_since),
    number(all_args[arg + 3]), outcome, at, 1)
  ok, ok_at, bad, bad_since = text(ok), text(ok_at), text(bad), text(bad_since)
  redis.call('DEL', all_keys[key + 2])
  local entry = {
    'tick', all_args[arg + 3], 'run', run, 'node', all_args[arg + 5], 'fence', fence, 'attempt', all_args[arg + 11],
    'cause', all_args[arg + 6], 'outcome', outcome, 'started', started, 'finished', ended,
  }
  for i = 1, #MAY_BE_ABSENT do
    local value = all_args[arg + 12 + i]
    if value ~= '' then
      entry[#entry + 1] = MAY_BE_ABSENT[i]
      entry[#entry + 1] = value
    end
  end
  -- The entry comes first: a run whose entry cannot be written has not ended.
  local runs = all_keys[key + 3]
  given(runs, redis.pcall('XADD', runs, 'MAXLEN', KEPT_ENTRIES, '*', unpack(entry)))
  redis.call('HSET', state, 'until', '0', 'phase', 'idle', 'last', outcome, 'reason', all_args[arg + 13],
    'ended', ended, 'ok', ok, 'ok_at', ok_at, 'bad', bad, 'bad_since', bad_since)
  return { 'finished', text(now), mark, lease, '', '', '', '' }
end
