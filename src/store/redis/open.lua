-- Invariant: afterwards there is a record of this era; one that was missing grants nothing before its wait is over.
-- ARGV: 1 era, 2 heard, 3 largest lease, 4 seen, 5 sched, 6 lease, 7 known;
-- 8 whether the last word about a pause is known, 9-12 it: at, until, by, why.
if newer_schema() then return answer('newer_schema', record.schema) end
if era ~= ARGV[1] then return answer('new_era', era) end

local heard, largest, lease = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[6])
if not record then
  create(heard, ARGV[7] == '1' and longest_of(lease, 0, largest) or FIRST_WAIT, optional(ARGV[4]))
  record.sched = ARGV[5]
end
adopt_era(heard, largest, lease)
-- Rule 4 by everyone who remembers: whoever came first in this era may have known less of earlier ones.
recall_lost(optional(ARGV[4]))
if heard > 0 then
  pass_unrecorded(maybe_decided(heard))
  if record['until'] > 0 then record.lease = longest_of(lease, record.lease, largest) end
  changed = true
end
if ARGV[8] == '1' then recall_pausing(optional(ARGV[10]), tonumber(ARGV[9]), ARGV[11], ARGV[12]) end
return answer('opened', record.sched, text(record.paused_at), text(record.paused), record.paused_by, record.paused_why)
