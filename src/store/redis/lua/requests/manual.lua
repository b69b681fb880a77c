-- Invariant: a manual run takes the same lock and decides no tick.
-- ARGV: 1-13 bid; 14 asked, 15 order, 16 how late a rerun may start that goes first, or empty; 17 largest fence.
local bid = bid_from_argv(number(ARGV[14]), number(ARGV[17]))
bid.reruns_within = optional(ARGV[16])
local order = ARGV[15]

-- Takes the order: it is run, or skipped.
local function take_order()
  if order ~= '' then record.order, record.taken, record.taken_run = '', order, bid.run end
end

local refused = enter(bid)
if refused then return refused end

if order ~= '' and (record.order ~= order or record.taken == order) then return decided(bid.tick) end

local standing, held = contend(bid, false)
if standing == 'held' then return held end
if standing == 'covered' then
  add_entry({
    'tick', bid.tick, 'run', bid.run, 'cause', 'manual', 'outcome', 'skipped', 'reason', 'overlap', 'finished', now,
  })
  take_order()
  return answer('consumed', 'skipped', 'overlap')
end

record.tries = 1
take_order()
return grant(bid, 'manual')
