#!lua
-- Starts a new life of an activity's set under a new epoch: removes the old one whatever it holds, even under keys of a wrong
-- type, and writes rules and original capacities in state loading. It is the way out of a set that is broken, so it refuses nothing
-- but an epoch that is not higher than the one that stands.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- KEYS[4] pending   zset
-- KEYS[5] facts     hash
-- KEYS[6..] waiters set: one per ticket type
-- ARGV[1] epoch     the new epoch
-- ARGV[2] facts     JSON of what never changes about the activity
-- ARGV[3] status    P published, S suspended, C closed, X cancelled
-- ARGV[4] opens     ms, inclusive
-- ARGV[5] closes    ms, exclusive
-- ARGV[6] limit     units that one user may hold
-- ARGV[7] version   of the rules
-- ARGV[8] offset    ms, added to the clock
-- ARGV[9..] counter, units: every counter's field and its original capacity
-- Returns: {"BEGUN"} or {"EPOCH", the epoch that stands}.
-- Idempotent by: epoch
-- Caller: Store.Begin
local call = redis.call
local rules, buyers, log, pending, facts = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local epoch = ARGV[1]

local stands, last = nil, 0
if call('TYPE', rules).ok == 'hash' then
  stands = call('HGET', rules, 'epoch')
  last = tonumber(call('HGET', rules, 'seq')) or 0
end
if stands and (tonumber(stands) or 0) >= epoch + 0 then return {'EPOCH', stands} end
local info = call('INFO', 'server', 'replication')
local run = string.match(info, 'run_id:(%x+)') .. ':' .. string.sub(string.match(info, 'master_replid:(%x+)'), 1, 16)
local clock = call('TIME')
local seq = math.max(last + 1, clock[1] * 1000000 + clock[2] + ARGV[8] * 1000)

if call('TYPE', facts).ok ~= 'hash' then call('UNLINK', facts) end
call('UNLINK', rules, buyers, log, pending)
for i = 6, #KEYS do call('UNLINK', KEYS[i]) end
call('HSET', facts, 'sale', ARGV[2])
call('HSET', buyers, '#', epoch)
call('HSET', log, '#', epoch)
-- What reserve.lua reads stands first: a small hash is searched from its beginning.
call('HSET', rules, 'open', '-', 'status', ARGV[3], 'opens', ARGV[4], 'closes', ARGV[5], 'limit', ARGV[6],
  'seq', string.format('%d', seq))
for i = 9, #ARGV, 2 do call('HSET', rules, ARGV[i], ARGV[i + 1]) end
call('HSET', rules, 'epoch', epoch, 'version', ARGV[7], 'run', run)
return {'BEGUN'}
