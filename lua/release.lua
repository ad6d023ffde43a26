#!lua flags=allow-oom
-- Gives back what an order id took, once for ever, whatever its caller believes was taken. Only for orders whose CANCELLED row
-- is committed. An id that the log does not know gets a dead marker, which gives nothing and stops whoever comes late with it.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- KEYS[4] pending   zset
-- ARGV[1] order     field of the id's entry: "t" and the 16 bytes of the order id
-- ARGV[2] user      field of the mark to seed if the id is unknown: "u" and the user id
-- ARGV[3] reason    one word, why the order died
-- ARGV[4] offset    ms, added to the clock
-- Returns: {"GIVEN", before, after} units of the type left; {"ALREADY", entry, dead or nil}; {"MARKED"}; {"NOT_LOADED"}.
-- Idempotent by: order
-- Caller: Store.Release
local call = redis.call
local rules, buyers, log, pending = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local order, user, reason = ARGV[1], ARGV[2], ARGV[3]

local r = call('HMGET', rules, 'epoch', 'seq')
local epoch = r[1]
local known = call('HMGET', log, '#', order, 'x' .. order, 'm' .. order)
if not epoch or known[1] ~= epoch or call('HGET', buyers, '#') ~= epoch then return {'NOT_LOADED'} end
call('ZCARD', pending) -- refuses a key of another type

local entry, quantity, kind, alloc = known[2], '0', nil, nil
if entry then
  quantity, kind, alloc, user = string.match(entry, '^%d+ (%d+) %-?%d+ (%S+) (%S+) (.+)$')
  if known[3] or quantity == '0' then return {'ALREADY', entry, known[3]} end
  alloc = known[4] and string.match(known[4], '^%d+ (%S+)$') or alloc
end

local clock = call('TIME')
local seq = math.max(r[2] + 1, clock[1] * 1000000 + clock[2] + ARGV[4] * 1000)
seq = string.format('%d', seq)
local mark = call('HGET', buyers, user)

if not entry then
  call('HSET', log, order, seq .. ' 0 0 ' .. reason .. ' - ' .. user)
  if not mark then call('HSET', buyers, user, '0' .. order) end
  call('HSET', rules, 'seq', seq)
  return {'MARKED'}
end

local counter = 'left:' .. kind
local before = call('HGET', rules, counter)
if not (mark and before) then return {'NOT_LOADED'} end
local changes = {}
for bucket, count in string.gmatch(alloc, '(%d+):(%d+)') do
  local name = counter .. ':' .. bucket
  local have = call('HGET', rules, name)
  if not have then return {'NOT_LOADED'} end
  changes[#changes + 1] = name
  changes[#changes + 1] = have + count
end
local after = before + quantity
local held = string.sub(mark, 1, -18) - quantity

call('ZREM', pending, order)
call('HSET', log, 'x' .. order, seq .. ' ' .. before .. ' ' .. quantity .. ' ' .. reason)
call('HSET', buyers, user, held .. string.sub(mark, -17))
call('HSET', rules, 'seq', seq, counter, after, unpack(changes))
return {'GIVEN', before, tostring(after)}
