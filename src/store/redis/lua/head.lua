-- Invariant: the clock and the era are read once for all requests of a call, the era only where a decision depends on it:
-- for the server it is as much work as a claim's other reads and writes.
-- KEYS: three per request. ARGV: 1 the number of arguments per request; then the arguments, request by request.
local SCHEMA = 1
local EARLY_TOLERANCE = 200
local SYNC_TOLERANCE = 1000
local SETTLING = 5000
-- A rerun that waits for a live run is claimed again after this time.
local RERUN_PAUSE = 1000
local UNTOLD_FENCES = 10000
local KEPT_ENTRIES = 200
local KEPT_LEAPS = 32
-- A tick is granted once, and once more after an interruption.
local TRIES = 2
-- The largest whole number that a double holds exactly.
local MAX = 9007199254740991

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local known_era
local function era()
  local why
  if not known_era then known_era, why = read_era() end
  return known_era or error(why, 0)
end

-- Errors contain printable ASCII only: a client ends the connection if an error is not UTF-8, or has several lines. Of
-- foreign text at most QUOTED bytes are quoted.
local UNPRINTABLE, QUOTED = '[^\32-\126]', 200
local function quoted(said)
  return (string.gsub(string.sub(said, 1, QUOTED), UNPRINTABLE, '?'))
end

-- Returns the reply of a command on this key, or raises its error. The server's error does not say which key is of another
-- type, nor what to do.
local function given(key, reply)
  if type(reply) ~= 'table' or not reply.err then return reply end
  local is_foreign = string.find(reply.err, 'WRONGTYPE')
  local help = 'WRONGTYPE `' .. key .. '` was replaced by something that solocron did not write: DEL or RENAME it'
  error(is_foreign and help or reply.err, 0)
end

-- The hints about decisions, and their channel.
local told, channel = {}, nil

local all_keys, all_args = KEYS, ARGV
-- Decides a usual request, or leaves it to the rules; nil where a kind of request has no usual case. Its arguments: how
-- many keys, and how many values of ARGV, come before those of the request.
local usual

-- The requests of a call have most of their numbers in common: each is parsed and formatted once.
local numbers, digits = {}, {}

-- Returns a text as a number; an empty text stands for an absent number.
local function number(said)
  local value = numbers[said]
  if not value then
    value = tonumber(said)
    numbers[said] = value
  end
  return value
end

-- Returns a number as whole digits; nil as an empty text.
local function text(value)
  if value == nil then return '' end
  if type(value) ~= 'number' then return value end
  local said = digits[value]
  if not said then
    said = string.format('%.0f', value)
    digits[value] = said
  end
  return said
end

local function plus(a, b)
  return math.min(a + b, MAX)
end

-- Returns these fields of a record. If the user lacks the right, the rules decide, and it is not tried again.
local function peek(key, ...)
  local read = redis.pcall('HMGET', key, ...)
  if not read.err then return unpack(read) end
  usual = nil
end

-- Returns the text of a lock's mirror.
local function shown(node, run, fence, tick, started)
  return 'node=' .. node .. ' run=' .. run .. ' fence=' .. fence .. ' tick_ms=' .. tick .. ' started_ms=' .. started
end

-- Adds a hint for all replicas: the reply that a claim for the tick gets from now on, with this name, what this reply says
-- about the record, and further values.
local function tell(where, job, name, reply, ...)
  local said = { era(), job, name, unpack(reply, 2, 8) }
  for _, value in ipairs({ ... }) do said[#said + 1] = value end
  told[#told + 1], channel = table.concat(said, '\n'), where
end
