#!lua
-- Takes units of one ticket type for one user, all or nothing, and names them by the order id.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- KEYS[4] pending   zset
-- KEYS[5] waiters   set
-- ARGV[1] order     field of the id's entry: "t" and the 16 bytes of the order id
-- ARGV[2] user      field of the mark: "u" and the user id
-- ARGV[3] counter   field of the type's counter: "left:" and the ticket type
-- ARGV[4] quantity  units, a whole number from 1
-- ARGV[5] bucket    number of the bucket to try first, from 0
-- ARGV[6] buckets   number of buckets of the type
-- ARGV[7] offset    ms, added to the clock
-- ARGV[8] past      1 past the gate of the waitlist, 0 not: then nothing is left while anybody waits
-- Returns: the entry "<seq> <quantity> <before> <type> <alloc> <user>" when taken now; for an id that the log knows
--   {"REPLAY", entry, dead or nil, move or nil, pending score or nil}; an integer, the units left, when they are too few; else
--   words: "NOT_LOADED", "NOT_STARTED <opens ms> <now us>", "ENDED <closes ms> <now us>", "SUSPENDED", "CLOSED",
--   "ALREADY_RESERVED <16 bytes>", "LIMIT <limit> <held>", "OTHER_USER", "BAD_QUANTITY".
-- Idempotent by: order
-- Caller: Store.Reserve
local call = redis.call
local rules, buyers, log, pending, waiters = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local order, user, counter, quantity, bucket = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- Most callers come too late, so what only a taker needs is read later.
local r = call('HMGET', rules, 'open', 'status', 'opens', 'closes', counter)
local marks = call('HMGET', buyers, '#', user)
local epoch, opens, closes, before, mark = r[1], r[3], r[4], r[5], marks[2]
if not (epoch and before) or marks[1] ~= epoch then return 'NOT_LOADED' end

-- Whoever has an entry in the log has a mark, so a stranger needs no look into the log to be refused.
local held = 0
if mark then
  local known = call('HMGET', log, '#', order, 'x' .. order, 'm' .. order)
  if known[1] ~= epoch then return 'NOT_LOADED' end
  if known[2] then return {'REPLAY', known[2], known[3], known[4], call('ZSCORE', pending, order)} end
  held = string.sub(mark, 1, -18) + 0
end

local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2] + (ARGV[7] ~= '0' and ARGV[7] * 1000 or 0)
if now < opens * 1000 then return string.format('NOT_STARTED %s %d', opens, now) end
if now >= closes * 1000 then return string.format('ENDED %s %d', closes, now) end
if r[2] ~= 'P' then return r[2] == 'S' and 'SUSPENDED' or 'CLOSED' end
if held > 0 and call('HGET', rules, 'limit') == '1' then return 'ALREADY_RESERVED ' .. string.sub(mark, -16) end
if before == '0' then return 0 end
local left, wanted = before + 0, quantity + 0
if left < wanted then return left end
if ARGV[8] == '0' and call('SCARD', waiters) > 0 then return 0 end
local bucket_counter = counter .. ':' .. bucket
local limit, seq, have = unpack(call('HMGET', rules, 'limit', 'seq', bucket_counter))
if not (limit and seq and have) then return 'NOT_LOADED' end
if held + wanted > limit + 0 then return 'LIMIT ' .. limit .. ' ' .. held end
if wanted < 1 or wanted % 1 ~= 0 then return 'BAD_QUANTITY' end
if not mark then
  local known = call('HMGET', log, '#', order)
  if known[1] ~= epoch or known[2] then return known[1] == epoch and 'OTHER_USER' or 'NOT_LOADED' end
end

-- The first bucket gives all, or what it has is combined with what the others have, going round from there, four at a time.
local alloc, changes, stamp
if have + 0 >= wanted then
  alloc = bucket .. ':' .. quantity
else
  local prefix, first, buckets, need, n, low = counter .. ':', bucket + 0, ARGV[6] + 0, wanted, 0, nil
  local last = first + buckets - 1
  changes = {}
  for from = first, last, 4 do
    local names = {}
    for i = from, math.min(from + 3, last) do names[i - from + 1] = prefix .. i % buckets end
    local there = call('HMGET', rules, unpack(names))
    for i = 1, #names do
      local units, count, rest = there[i] + 0, there[i], '0'
      if units > 0 and need > 0 then
        if units > need then units, count, rest = need, need, units - need end
        changes[n + 1], changes[n + 2], n, need = names[i], rest, n + 2, need - units
        local piece = string.sub(names[i], #prefix + 1) .. ':' .. count
        if from + i <= buckets then alloc = alloc and alloc .. ',' .. piece or piece
        else low = low and low .. ',' .. piece or piece end
      end
    end
    if need == 0 then break end
  end
  if need > 0 then return wanted - need end
  if low then alloc = alloc and low .. ',' .. alloc or low end
end
seq = seq + 1
if now >= seq then seq = now else stamp = string.format('%d', now) end -- pending ages by the clock, even one that went back
seq = string.format('%d', seq)
local entry = seq .. ' ' .. quantity .. ' ' .. before .. ' ' .. string.sub(counter, 6) .. ' ' .. alloc .. ' ' .. user
call('ZADD', pending, stamp or seq, order) -- first, because pending is the one key whose type no read has proved
call('HSET', log, order, entry)
call('HSET', buyers, user, (mark and held + wanted or quantity) .. order)
if changes then
  call('HSET', rules, 'seq', seq, counter, left - wanted, unpack(changes))
else
  call('HSET', rules, 'seq', seq, counter, left - wanted, bucket_counter, have - wanted)
end
return entry
