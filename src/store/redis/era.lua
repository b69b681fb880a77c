-- Invariant: a server that does not tell its replication id is refused: nobody would notice a restart of it, or a failover.
-- Put in front of every script that needs it.
local function read_era()
  local said = redis.pcall('INFO', 'replication')
  -- A user that lacks the right is told so in the server's words.
  if said.err then return nil, (string.find(said.err, 'NOPERM') and '' or 'NOERA ') .. said.err end
  local found = string.match(said, 'master_replid:(%x+)')
  if found and string.find(found, '[^0]') then return found end
  return nil, 'NOERA INFO replication has no master_replid'
end

