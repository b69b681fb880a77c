-- Invariant: grants and refuses only what the rules of claim.lua do, and then writes and answers the same. The rules decide all
-- that is neither the next tick of a job at rest, claimed in time, nor a tick that was decided before.
-- ARGV: as in claim.lua.

-- Returns the refusal of a tick that was decided, if nothing about the record has to change.
local function usual_refusal(state, arg, phase, mark, since, lease, free)
  if free > plus(now, number(all_args[arg + 10])) or phase == 'running' and free <= now then return end
  local tick, owner, last, reason, tries, cause = peek(state, 'tick', 'owner', 'last', 'reason', 'tries', 'cause')
  if (tick or '') == '' or last == 'interrupted' then return end

  local reply = { 'decided', text(now), mark, lease, '', '', '', '', '', '', '' }
  local is_running = phase == 'running'
  if is_running and number(tries) < TRIES and cause ~= 'manual' and number(tick) > since then
    reply[5], reply[6], reply[7], reply[8] = tick, owner, '1', text(free - now)
  end
  if tick == all_args[arg + 9] then
    local is_open = is_running and (last or '') == ''
    reply[9], reply[10], reply[11] = owner, is_open and 'running' or last or '', reason or ''
  end
  return reply
end

function usual(key, arg)
  local state, run, tick = all_keys[key + 1], all_args[arg + 8], number(all_args[arg + 9])
  if math.abs(now - number(all_args[arg + 2])) > SYNC_TOLERANCE or all_args[arg + 3] ~= era() then return end
  if tick > now + EARLY_TOLERANCE then return end

  local schema, life, phase, former_run, mark, since, free, former_lease, fence, sched, last, ended, lost, paused, stop,
    stop_for, leaps, returned, floor, made, settled = peek(state, 'schema', 'era', 'phase', 'run', 'mark', 'since', 'until', 'lease', 'fence',
    'sched', 'last', 'ended', 'lost', 'paused', 'stop', 'stop_for', 'leaps', 'returned', 'floor', 'made', 'settled')
  if tonumber(schema) ~= SCHEMA or life ~= era() or (lost or '') ~= '' or former_run == run or (sched or '') == '' then return end
  local has_run, decided_up_to = (former_run or '') ~= '', number(mark)
  since, free = number(since or '0'), number(free)
  -- A mark that lies ahead, a leap whose ticks still need their entry, and a store that went back are left to the rules.
  local answered, opened = all_args[arg + 12], number(returned or '0')
  if opened > math.max(now, number(all_args[arg + 22])) + EARLY_TOLERANCE then opened = 0 end
  local knows_less = answered ~= '' and number(answered) > math.max(decided_up_to, opened)
  if decided_up_to > now + EARLY_TOLERANCE or knows_less or leaps and string.find(leaps, '[!?=]') then return end
  -- So is a record that is not settled, or whose `settled` lies further ahead than SETTLING.
  if (settled or '') ~= '' and number(settled) > now then return end
  -- So are ticks that were forgotten before the record was created.
  local knew = all_args[arg + 7]
  if made == mark and knew ~= '' and number(knew) < decided_up_to then return end
  local is_decided = tick <= decided_up_to --[[protection: mark, off: false]]
  if is_decided then return usual_refusal(state, arg, phase, mark, since, former_lease, free) end

  -- The job is at rest, and no stop, pause or interruption has to be handled first.
  if phase ~= 'idle' or last == 'interrupted' or sched ~= all_args[arg + 18] then return end
  if (stop or '') ~= '' or (stop_for or '') ~= '' or paused and paused ~= '' and number(paused) > now then return end
  -- The tick is in time, and the first one after all that have their entries; the previous run had ended by its instant.
  local is_late = math.min(now, number(all_args[arg + 22])) - tick > number(all_args[arg + 19])
  local prev, seen, after = all_args[arg + 14], all_args[arg + 7], math.max(decided_up_to, since)
  if is_late or tick <= after or ended and ended ~= '' and number(ended) > tick then return end
  if not has_run and seen ~= '' and number(seen) < decided_up_to then after = math.max(number(seen), since) end
  if prev ~= '' and number(prev) > after then return end
  -- It is no catch-up, and the replica can run the job.
  if all_args[arg + 21] ~= '0' or all_args[arg + 23] ~= '' then return end
  local lease = all_args[arg + 10]
  local longest = math.max(number(lease), number(former_lease), number(all_args[arg + 6]))
  -- A record that was never granted needs only the wait that was set when it was created.
  local needed = has_run and longest or number(former_lease)
  if free > 0 and (free > now or number(all_args[arg + 4]) < needed) then return end

  local node, heard = all_args[arg + 1], number(all_args[arg + 5])
  -- Where the store's clock may have been set back, the rules decide from when on the lock is leased.
  if heard > now and number(all_args[arg + 4]) < longest then return end
  local granted = text(math.max(math.max(number(fence), number(floor or '0'), number(all_args[arg + 25])) + 1, now, heard))
  local till = plus(now, number(lease))
  local at, began, on, left = text(now), text(math.max(now, tick)), all_args[arg + 9], text(till - now)
  redis.call('HSET', state, 'fence', granted, 'mark', on, 'until', text(till), 'lease', lease, 'phase', 'running', 'run', run,
    'tick', on, 'tries', '1', 'cause', 'schedule', 'started', began, 'ended', began, 'last', '', 'reason', '', 'owner', node)
  redis.call('SET', all_keys[key + 2], shown(node, run, granted, on, began), 'PX', left)
  local reply = { 'won', at, on, lease, on, node, '1', left, granted, '1', began }
  local is_worth_telling = true --[[protection: mark, off: false]]
  if is_worth_telling then
    tell(all_args[arg + 28], all_args[arg + 29], 'decided', reply, node, 'running', '')
  end
  return reply
end
