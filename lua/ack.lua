#!lua flags=allow-oom
-- Notes for a batch of orders that MySQL has committed them. An order that the log does not know is adopted: its units leave the
-- counters, which may go below zero. One that MySQL allocated otherwise gets a move entry, and the bucket counters follow.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- KEYS[4] pending   zset
-- ARGV[1] offset    ms, added to the clock
-- ARGV[2..] order, user, type, quantity, alloc: per order the field of its entry ("t" and 16 bytes), the field of its buyer's mark
--   ("u" and the user id), the ticket type, units, and "0:2,3:1"
-- Returns: {"NOT_LOADED"}, or per order a word: "DONE", "MOVED", "ADOPTED", "DEAD" (nothing changed), "CONFLICT" (the log has
--   another type or quantity, or an earlier move elsewhere: nothing changed).
-- Idempotent by: order
-- Caller: Store.acknowledgeBatch
local call = redis.call
local rules, buyers, log, pending = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local r = call('HMGET', rules, 'epoch', 'seq')
local epoch = r[1]
if not epoch or call('HGET', log, '#') ~= epoch or call('HGET', buyers, '#') ~= epoch then return {'NOT_LOADED'} end
call('ZCARD', pending) -- refuses a key of another type
local clock = call('TIME')
local seq = math.max(r[2] + 0, clock[1] * 1000000 + clock[2] + ARGV[1] * 1000 - 1)
local first = seq

-- Everything is read and reckoned in these tables before anything is written; fresh holds new fields of the log.
local counters, marks, fresh, settled, words, whole = {}, {}, {}, {}, {}, true

local function look(field)
  return fresh[field] or call('HGET', log, field)
end

local function write(field, value)
  seq = seq + 1
  fresh[field] = string.format('%d ', seq) .. value
end

local function add(name, units)
  local have = counters[name] or call('HGET', rules, name)
  if have then counters[name] = have + units else whole = false end
end

local function shift(kind, alloc, sign)
  for bucket, count in string.gmatch(alloc, '(%d+):(%d+)') do add('left:' .. kind .. ':' .. bucket, sign * count) end
end

local function adopt(order, user, kind, quantity, alloc)
  local mark = marks[user] or call('HGET', buyers, user)
  local held = mark and string.sub(mark, 1, -18) or 0
  marks[user] = held + quantity .. order
  add('left:' .. kind, -quantity)
  shift(kind, alloc, -1)
  write(order, quantity .. ' -1 ' .. kind .. ' ' .. alloc .. ' ' .. user)
  return 'ADOPTED'
end

local function settle(order, user, kind, quantity, alloc)
  local entry = look(order)
  if not entry then return adopt(order, user, kind, quantity, alloc) end
  local taken, of, from = string.match(entry, '^%d+ (%d+) %-?%d+ (%S+) (%S+)')
  if taken == '0' or look('x' .. order) then return 'DEAD' end
  local move = look('m' .. order)
  if move then from = string.match(move, '(%S+)$') end
  if taken ~= quantity or of ~= kind or (move and from ~= alloc) then return 'CONFLICT' end
  if from == alloc then return 'DONE' end
  shift(kind, from, 1)
  shift(kind, alloc, -1)
  write('m' .. order, alloc)
  return 'MOVED'
end

for i = 2, #ARGV, 5 do
  local word = settle(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
  words[#words + 1] = word
  if word ~= 'DEAD' and word ~= 'CONFLICT' then settled[#settled + 1] = ARGV[i] end
end
if not whole then return {'NOT_LOADED'} end

if #settled > 0 then call('ZREM', pending, unpack(settled)) end
for field, value in pairs(fresh) do call('HSET', log, field, value) end
for user, mark in pairs(marks) do call('HSET', buyers, user, mark) end
for name, units in pairs(counters) do call('HSET', rules, name, units) end
if seq > first then call('HSET', rules, 'seq', string.format('%d', seq)) end
return words
