-- Invariant: a server that does not tell its replication id is refused: nobody would notice a restart of it, or a failover.
-- Put in front of every script that needs it.
local function read_era()
  local said = redis.pcall('INFO', 'replication')
  -- A user that lacks the right is told so in the server's words.
  if said.err then
    -- Redis 7 tells a script of it without the word.
    local is_denied = string.find(said.err, 'NOPERM') or string.find(said.err, "can't run this command", 1, true)
    return nil, (is_denied and 'NOPERM INFO: ' or 'NOERA ') .. said.err
  end
  local found = string.match(said, 'master_replid:(%x+)')
  if found and string.find(found, '[^0]') then return found end
  return nil, 'NOERA INFO replication has no master_replid'
end

