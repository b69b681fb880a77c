-- Invariant: nothing is changed. Returns two lists for each job: its record, and the newest entries of its history, newest first,
-- each as its id and its fields, without the output. In place of a list that is longer than solocron writes, its size in bytes; an
-- error in place of a key of another type.
-- KEYS: two per job, its record and its history. ARGV: 1 how many entries of each, 2 the most bytes of a list.
local newest, most, found = tonumber(ARGV[1]), tonumber(ARGV[2]), {}

local function size_of(texts)
  local size = 0
  for _, text in ipairs(texts) do size = size + #text end
  return size
end

local function without_output(row)
  local entry, fields = { row[1] }, row[2]
  for i = 1, #fields, 2 do
    if fields[i] ~= 'tail' then
      entry[#entry + 1] = fields[i]
      entry[#entry + 1] = fields[i + 1]
    end
  end
  return entry
end

local function entries_of(key)
  if newest < 1 then return {} end
  local rows = redis.pcall('XREVRANGE', key, '+', '-', 'COUNT', ARGV[1])
  if rows.err then return rows end
  local entries, size = {}, 0
  for at, row in ipairs(rows) do
    entries[at] = without_output(row)
    size = size + size_of(entries[at])
  end
  return size > most and size or entries
end

for at = 1, #KEYS, 2 do
  local record = redis.pcall('HGETALL', KEYS[at])
  local size = record.err and 0 or size_of(record)
  found[at] = size > most and size or record
  found[at + 1] = entries_of(KEYS[at + 1])
end
return found
