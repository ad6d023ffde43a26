#!lua
-- Moves a counter by what it is off against the log. Log and counters move together, so what a counter is off stays the same while the
-- sale goes on. Once per correction: its number is kept beside the counter, and a call that comes late changes nothing.
-- KEYS[1] rules     hash
-- ARGV[1] counter   field of the counter
-- ARGV[2] units     to add, negative to take away
-- ARGV[3] number    of the correction, higher than that of any correction of this counter before
-- ARGV[4] epoch     that the log was read in
-- Returns: {"CORRECTED", before, after}, {"ALREADY"}, {"EPOCH", the epoch that stands} or {"NOT_LOADED"}.
-- Idempotent by: number
-- Caller: Store.CorrectCounter
local call = redis.call
local rules, counter = KEYS[1], ARGV[1]
local r = call('HMGET', rules, 'epoch', 'open', counter, 'fix:' .. counter)
if not r[1] or r[2] ~= r[1] or not r[3] then return {'NOT_LOADED'} end
if r[1] ~= ARGV[4] then return {'EPOCH', r[1]} end
if r[4] and r[4] + 0 >= ARGV[3] + 0 then return {'ALREADY'} end
local after = string.format('%d', r[3] + ARGV[2])
call('HSET', rules, counter, after, 'fix:' .. counter, ARGV[3])
return {'CORRECTED', r[3], after}
