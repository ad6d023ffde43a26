#!lua
-- Puts one page of what MySQL knows into a set that is being loaded: adjustments, live orders, and cancelled ids as dead markers.
-- What the log knows already is left alone: one that died since stays dead, one that was released since was released by its id.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- ARGV[1] epoch     the loader's epoch
-- ARGV[2] offset    ms, added to the clock
-- ARGV[3..] entry, user, type, quantity, split: per record the field of its entry and, for an adjustment ("a" and its id),
--   "", type, "0", "0:5,1:-3"; for a live order ("t" and 16 bytes), "u" and the user id, type, units, "0:2,3:1"; for a dead one
--   ("t" and 16 bytes), "u" and the user id, its reason, "0", "-"
-- Returns: {"ADOPTED", number of records that were new}, {"EPOCH", the epoch that stands} or {"NOT_LOADED"}.
-- Idempotent by: entry
-- Caller: Store.adoptRecords
local call = redis.call
local rules, buyers, log = KEYS[1], KEYS[2], KEYS[3]
local r = call('HMGET', rules, 'epoch', 'seq')
local epoch = r[1]
if not epoch or call('HGET', buyers, '#') ~= epoch or call('HGET', log, '#') ~= epoch then return {'NOT_LOADED'} end
if epoch ~= ARGV[1] then return {'EPOCH', epoch} end
local clock = call('TIME')
local seq = math.max(r[2] + 0, clock[1] * 1000000 + clock[2] + ARGV[2] * 1000 - 1)

-- Everything is read and reckoned in these tables before anything is written; fresh holds new fields of the log.
local counters, marks, fresh, count, whole = {}, {}, {}, 0, true

local function add(name, units)
  local have = counters[name] or call('HGET', rules, name)
  if have then counters[name] = have + units else whole = false end
end

local function shift(counter, split, sign)
  local sum = 0
  for bucket, units in string.gmatch(split, '(%d+):(%-?%d+)') do
    add(counter .. ':' .. bucket, sign * units)
    sum = sum + sign * units
  end
  add(counter, sum)
end

local function mark(user, units, order)
  local now = marks[user] or call('HGET', buyers, user)
  if units > 0 or not now then marks[user] = (now and string.sub(now, 1, -18) or 0) + units .. order end
end

for i = 3, #ARGV, 5 do
  local field, user, kind, quantity, split = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  if not (fresh[field] or call('HGET', log, field)) then
    seq, count = seq + 1, count + 1
    if user == '' then
      fresh[field] = string.format('%d %s %s', seq, kind, split)
      shift('left:' .. kind, split, 1)
    else
      fresh[field] = string.format('%d %s %s %s %s ', seq, quantity, quantity == '0' and '0' or '-1', kind, split) .. user
      if quantity ~= '0' then shift('left:' .. kind, split, -1) end
      mark(user, quantity + 0, field)
    end
  end
end
if not whole then return {'NOT_LOADED'} end

for field, value in pairs(fresh) do call('HSET', log, field, value) end
for user, value in pairs(marks) do call('HSET', buyers, user, value) end
for name, units in pairs(counters) do call('HSET', rules, name, units) end
if count > 0 then call('HSET', rules, 'seq', string.format('%d', seq)) end
return {'ADOPTED', count}
