-- Invariant: the clock, and which life of the server this is, are read once for all requests of a call, the latter only
-- where anything rests on it: to the server it is as much work as a claim's other reads and writes.
-- KEYS: three for each request. ARGV: 1 how many each has; theirs, one after the other.
local SCHEMA = 1
local EARLY_TOLERANCE = 200
local SYNC_TOLERANCE = 1000
local SETTLING = 5000
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

-- Errors are printable ASCII alone: a client ends the connection where one is no UTF-8, or has several lines. Of what others wrote
-- as much is quoted.
local UNPRINTABLE, QUOTED = '[^\32-\126]', 200
local function quoted(said)
  return (string.gsub(string.sub(said, 1, QUOTED), UNPRINTABLE, '?'))
end

-- What a command on this key gave. The server does not say which key is of another type, nor what to do.
local function given(key, reply)
  if type(reply) ~= 'table' or not reply.err then return reply end
  local is_foreign = string.find(reply.err, 'WRONGTYPE')
  local help = 'WRONGTYPE `' .. key .. '` was replaced by something that solocron did not write: DEL or RENAME it'
  error(is_foreign and help or reply.err, 0)
end

-- What is told of decisions, and on which channel.
local told, channel = {}, nil

local all_keys, all_args = KEYS, ARGV
-- Decides what is as usual, and leaves the rest to the rules; absent where a kind of request has nothing usual. It is told
-- how many keys and how many arguments come before those of the request.
local usual

-- Requests that come together have most of their numbers in common: each is read, and written, once.
local numbers, digits = {}, {}

-- A text as a number; an absent number is an empty text.
local function number(said)
  local value = numbers[said]
  if not value then
    value = tonumber(said)
    numbers[said] = value
  end
  return value
end

-- A number as whole digits; an absent one as an empty text.
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

-- These fields of a record. A user may lack the right: then the rules decide, and it is not tried again.
local function peek(key, ...)
  local read = redis.pcall('HMGET', key, ...)
  if not read.err then return unpack(read) end
  usual = nil
end

-- What the mirror of a lock shows.
local function shown(node, run, fence, tick, started)
  return 'node=' .. node .. ' run=' .. run .. ' fence=' .. fence .. ' tick_ms=' .. tick .. ' started_ms=' .. started
end

-- Tells everybody what whoever asks for the tick is told from now on: under this name, with what this reply says of the
-- record, and with more.
local function tell(where, job, name, reply, ...)
  local said = { era(), job, name, unpack(reply, 2, 8) }
  for _, value in ipairs({ ... }) do said[#said + 1] = value end
  told[#told + 1], channel = table.concat(said, '\n'), where
end
