-- Invariant: nothing is changed. Answers for each record what it tells of its schema, mark and lease; empty texts for none.
-- KEYS: the records.
local found = {}
for _, key in ipairs(KEYS) do
  for _, value in ipairs(redis.call('HMGET', key, 'schema', 'mark', 'lease')) do
    found[#found + 1] = value or ''
  end
end
return found
