#!lua
-- Notes that a reservation of a deposit seat was accepted by the queue and is about to be promised, so that repair may freeze money for
-- it. Only a pending one needs the note: of the others MySQL has decided.
-- KEYS[1] rules     hash
-- KEYS[2] log       hash
-- KEYS[3] pending   zset
-- ARGV[1] order     field of the id's entry: "t" and the 16 bytes of the order id
-- ARGV[2] offset    ms, added to the clock
-- Returns: {"SENT"} noted now or before; {"DECIDED"} it is not pending any more; {"UNKNOWN"} the log has no such entry; {"NOT_LOADED"}.
-- Idempotent by: order
-- Caller: Store.MarkSent
local call = redis.call
local rules, log, pending, order = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local r = call('HMGET', rules, 'epoch', 'seq')
local known = call('HMGET', log, '#', order, 's' .. order)
if not r[1] or known[1] ~= r[1] then return {'NOT_LOADED'} end
if not known[2] then return {'UNKNOWN'} end
if not call('ZSCORE', pending, order) then return {'DECIDED'} end
if known[3] then return {'SENT'} end
local clock = call('TIME')
local seq = string.format('%d', math.max(r[2] + 1, clock[1] * 1000000 + clock[2] + ARGV[2] * 1000))
call('HSET', log, 's' .. order, seq)
call('HSET', rules, 'seq', seq)
return {'SENT'}
