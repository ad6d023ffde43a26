#!lua
-- Adds units to a ticket type or takes free ones away, all or nothing, spread over its buckets as evenly as they allow.
-- KEYS[1] rules     hash
-- KEYS[2] log       hash
-- ARGV[1] entry     field of the adjustment's entry: "a" and the adjustment id
-- ARGV[2] type      ticket type
-- ARGV[3] delta     units, negative to take away, never 0
-- ARGV[4] buckets   number of buckets of the type
-- ARGV[5] offset    ms, added to the clock
-- Returns: {"ADJUSTED", entry} now or before, the entry being "<seq> <type> <split>", the split "0:5,1:-3"; {"UNDONE"};
--   {"INSUFFICIENT"}; {"NOT_LOADED"}.
-- Idempotent by: entry
-- Caller: Store.AdjustStock
local call = redis.call
local rules, log = KEYS[1], KEYS[2]
local field, kind, delta, buckets = ARGV[1], ARGV[2], ARGV[3] + 0, ARGV[4] + 0

local r = call('HMGET', rules, 'epoch', 'open', 'seq')
local known = call('HMGET', log, '#', field, 'i' .. field)
if not r[1] or known[1] ~= r[1] or r[2] ~= r[1] then return {'NOT_LOADED'} end
if known[3] then return {'UNDONE'} end
if known[2] then return {'ADJUSTED', known[2]} end

local counter, names = 'left:' .. kind, {}
for i = 1, buckets do names[i] = counter .. ':' .. i - 1 end
names[buckets + 1] = counter
local have = call('HMGET', rules, unpack(names))
for i = 1, buckets + 1 do
  if not have[i] then return {'NOT_LOADED'} end
end
if delta < 0 and have[buckets + 1] + delta < 0 then return {'INSUFFICIENT'} end

-- Even shares first, then what is over: one unit a bucket when adding, whatever is free when taking away.
local shares, need, even = {}, math.abs(delta), math.floor(math.abs(delta) / buckets)
for i = 1, buckets do
  shares[i] = delta > 0 and even or math.min(even, math.max(have[i] + 0, 0))
  need = need - shares[i]
end
for i = 1, buckets do
  local more = math.min(need, delta > 0 and 1 or math.max(have[i] - shares[i], 0))
  shares[i], need = shares[i] + more, need - more
end
if need > 0 then return {'INSUFFICIENT'} end

local split, changes, sign = {}, {counter, have[buckets + 1] + delta}, delta > 0 and 1 or -1
for i = 1, buckets do
  if shares[i] > 0 then
    split[#split + 1] = i - 1 .. ':' .. sign * shares[i]
    changes[#changes + 1] = names[i]
    changes[#changes + 1] = have[i] + sign * shares[i]
  end
end
local clock = call('TIME')
local seq = math.max(r[3] + 1, clock[1] * 1000000 + clock[2] + ARGV[5] * 1000)
seq = string.format('%d', seq)
local entry = seq .. ' ' .. kind .. ' ' .. table.concat(split, ',')
call('HSET', log, field, entry)
call('HSET', rules, 'seq', seq, unpack(changes))
return {'ADJUSTED', entry}
