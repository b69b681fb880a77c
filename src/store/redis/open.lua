-- Invariant: afterwards there is a record of this era; one that was missing grants nothing before its wait is over.
-- ARGV: 1 era, 2 heard, 3 largest lease, 4 seen, 5 sched, 6 lease, 7 known.
if newer_schema() then return answer('newer_schema', record.schema) end
if era ~= ARGV[1] then return answer('new_era', era) end

local heard, largest, lease = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[6])
if not record then
  create(heard, ARGV[7] == '1' and math.max(lease, largest) or FIRST_WAIT, optional(ARGV[4]))
  record.sched = ARGV[5]
end
adopt_era(heard, largest, lease)
-- Rule 4 by everyone who remembers: whoever came first in this era may have known less of earlier ones.
if heard > 0 then
  local seen = optional(ARGV[4])
  if record.run == '' and not record.lost and seen and seen < record.mark then record.lost = seen end
  pass_unrecorded(plus(heard, EARLY_TOLERANCE))
  if record['until'] > 0 then record.lease = math.max(record.lease, lease, largest) end
  changed = true
end
return answer('opened', record.sched)
