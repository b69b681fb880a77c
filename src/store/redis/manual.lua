-- Invariant: a manual run takes the same lock and never touches the mark.
-- ARGV: 1-11 bid; 12 asked, 13 order.
local bid = bid_from_argv(tonumber(ARGV[12]))
local order = ARGV[13]

local refused = enter(bid)
if refused then return refused end

if order ~= '' and record.order ~= order then return decided(bid.tick) end

local standing, held = contend(bid, false)
if standing == 'held' then return held end
if standing == 'covered' then
  add_entry({
    'tick', bid.tick, 'run', bid.run, 'cause', 'manual', 'outcome', 'skipped', 'reason', 'overlap', 'finished', now,
  })
  record.order = ''
  return answer('consumed', 'skipped', 'overlap')
end

record.tries = 1
record.order = ''
return grant(bid, 'manual')
