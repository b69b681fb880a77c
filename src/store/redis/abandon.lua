-- Invariant: a lock under which nothing was started is released, and its tick is claimable again or has its entry.
-- ARGV: 1 run.
if newer_schema() then return answer('newer_schema', record.schema) end
if not record or record.run ~= ARGV[1] or record.phase ~= 'running' then return answer('already_decided') end

redis.call('DEL', KEYS[2])
changed = true
if record.tick == record.mark and record.cause ~= 'manual' then
  if record.tries > 1 then
    record.tries = record.tries - 1
    record.last = 'interrupted'
    record.reason = 'node_lost'
  else
    record.mark = record.tick - 1
  end
else
  add_entry({
    'tick', record.tick or record.mark, 'run', record.run, 'node', record.owner, 'fence', record.fence,
    'cause', record.cause, 'outcome', 'missed', 'reason', 'abandoned', 'started', record.started, 'finished', now,
  })
  record.last = 'missed'
  record.reason = 'abandoned'
end
record.phase = 'idle'
record['until'] = 0
record.stop = ''
record.started = nil
record.ended = nil
return answer('abandoned')
