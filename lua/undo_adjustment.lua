#!lua
-- Takes an adjustment back that MySQL refused, by an inverse entry. An id that the log does not know gets an inverse entry that
-- changes nothing, so that an adjustment which comes late finds it and stops.
-- KEYS[1] rules     hash
-- KEYS[2] log       hash
-- ARGV[1] entry     field of the adjustment's entry: "a" and the adjustment id
-- ARGV[2] offset    ms, added to the clock
-- Returns: {"UNDONE"} now or before, or {"NOT_LOADED"}.
-- Idempotent by: entry
-- Caller: Store.UndoAdjustment
local call = redis.call
local rules, log = KEYS[1], KEYS[2]
local field = ARGV[1]
local r = call('HMGET', rules, 'epoch', 'seq')
local known = call('HMGET', log, '#', field, 'i' .. field)
if not r[1] or known[1] ~= r[1] then return {'NOT_LOADED'} end
if known[3] then return {'UNDONE'} end

local kind, split, changes, sum = '-', '-', {}, 0
if known[2] then kind, split = string.match(known[2], '^%d+ (%S+) (%S+)$') end
for bucket, units in string.gmatch(split, '(%d+):(%-?%d+)') do
  local name = 'left:' .. kind .. ':' .. bucket
  local have = call('HGET', rules, name)
  if not have then return {'NOT_LOADED'} end
  changes[#changes + 1] = name
  changes[#changes + 1] = have - units
  sum = sum + units
end
if known[2] then
  local left = call('HGET', rules, 'left:' .. kind)
  if not left then return {'NOT_LOADED'} end
  changes[#changes + 1] = 'left:' .. kind
  changes[#changes + 1] = left - sum
end

local clock = call('TIME')
local seq = math.max(r[2] + 1, clock[1] * 1000000 + clock[2] + ARGV[2] * 1000)
seq = string.format('%d', seq)
call('HSET', log, 'i' .. field, seq .. ' ' .. kind .. ' ' .. split)
call('HSET', rules, 'seq', seq, unpack(changes))
return {'UNDONE'}
