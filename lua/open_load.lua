#!lua
-- Ends loading: from now on the set sells. Another server than the one where the load began may lack a part of it: then the load
-- must begin anew.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- ARGV[1] epoch     the loader's epoch
-- Returns: {"OPEN"}, {"EPOCH", the epoch that stands}, {"OTHER_RUN"} or {"NOT_LOADED"}.
-- Idempotent by: epoch
-- Caller: Store.Open
local call = redis.call
local rules, buyers, log = KEYS[1], KEYS[2], KEYS[3]
local r = call('HMGET', rules, 'epoch', 'open', 'run')
local epoch = r[1]
if not epoch or call('HGET', buyers, '#') ~= epoch or call('HGET', log, '#') ~= epoch then return {'NOT_LOADED'} end
if epoch ~= ARGV[1] then return {'EPOCH', epoch} end
if r[2] == epoch then return {'OPEN'} end
local info = call('INFO', 'server', 'replication')
local run = string.match(info, 'run_id:(%x+)') .. ':' .. string.sub(string.match(info, 'master_replid:(%x+)'), 1, 16)
if r[3] ~= run then return {'OTHER_RUN'} end
call('HSET', rules, 'open', epoch)
return {'OPEN'}
