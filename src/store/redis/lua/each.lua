-- Invariant: requests are decided in their order, each by itself: one that fails is told so, and the others go on.
local replies, width, decide = {}, tonumber(all_args[1]), nil
for i = 1, #all_keys / 3 do
  local key, arg = i * 3 - 3, (i - 1) * width + 1
  local is_decided, reply = true, nil
  if usual then is_decided, reply = pcall(usual, key, arg) end
  -- What fails has written nothing: the rules fail as well, and tell why.
  if not (is_decided and reply) then
    decide = decide or rules()
    is_decided, reply = pcall(
      decide, { unpack(all_keys, key + 1, key + 3) }, { unpack(all_args, arg + 1, arg + width) }
    )
  end
  if not is_decided then
    -- Whatever an error quotes, it must not end the connection for the others.
    local why = type(reply) == 'table' and reply.err or tostring(reply)
    reply = { err = (string.gsub(why, UNPRINTABLE, '?')) }
  end
  replies[i] = reply
end
-- Nothing rests on it: a user may lack the right.
if #told > 0 then redis.pcall('PUBLISH', channel, table.concat(told, '\30')) end
return replies
