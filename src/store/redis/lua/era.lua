-- Invariant: a server that does not report its replication id is refused: no replica would notice its restart or a failover.
-- Included before every script that needs the era.
local function read_era()
  local said = redis.pcall('INFO', 'replication')
  -- If the user lacks the right, the error carries the server's words.
  if said.err then
    -- Redis from 7 on and Valkey report this to a script without the word NOPERM.
    local is_denied = string.find(said.err, 'NOPERM') or string.find(said.err, "can't run this command", 1, true)
      or string.find(said.err, 'no permissions', 1, true)
    return nil, (is_denied and 'NOPERM INFO: ' or 'NOERA ') .. said.err
  end
  local found = string.match(said, 'master_replid:(%x+)')
  if found and string.find(found, '[^0]') then return found end
  return nil, 'NOERA INFO replication has no master_replid'
end

