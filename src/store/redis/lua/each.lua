-- Invariant: requests are decided in their order, each on its own: one that fails gets an error, and the others are decided.
local replies, width, decide = {}, tonumber(all_args[1]), nil
for i = 1, #all_keys / 3 do
  local key, arg = i * 3 - 3, (i - 1) * width + 1
  local is_decided, reply = true, nil
  if usual then is_decided, reply = pcall(usual, key, arg) end
  -- A usual script that fails has written nothing: the rules then fail as well, and give the reason.
  if not (is_decided and reply) then
    decide = decide or rules()
    is_decided, reply = pcall(
      decide, { unpack(all_keys, key + 1, key + 3) }, { unpack(all_args, arg + 1, arg + width) }
    )
  end
  if not is_decided then
    -- Whatever an error quotes, it must not end the connection, which other requests share.
    local why = type(reply) == 'table' and reply.err or tostring(reply)
    reply = { err = (string.gsub(why, UNPRINTABLE, '?')) }
  end
  replies[i] = reply
end
-- No decision depends on hints: the user may lack the right to publish.
if #told > 0 then redis.pcall('PUBLISH', channel, table.concat(told, '\30')) end
return replies
