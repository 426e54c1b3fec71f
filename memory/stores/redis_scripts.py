"""What ``RedisJournal`` runs on the server: one script a call, each in one round trip.

The keys of every script are those of a population: its facts, rows, bodies and
snapshots. Its first four arguments are the caller's mark.
"""

from __future__ import annotations

FORMAT = b"1"

# Every script begins with this. It replies where the journal stands, and goes on only if
# that continues what the caller has seen: identity, number of entries, and the head if
# there are no more of them. Every entry has a key among the bodies, or was discarded.
_PRELUDE = """
local meta = redis.call('HMGET', KEYS[1], 'format', 'identity', 'trimmed', 'head',
    'discarded')
local format, identity, head = meta[1] or '', meta[2] or '', meta[4] or ''
local trimmed, discarded = tonumber(meta[3] or '0'), tonumber(meta[5] or '0')
local last = trimmed + redis.call('LLEN', KEYS[2])
local keys = redis.call('HLEN', KEYS[3])
local seen, seq = tonumber(ARGV[2]), tonumber(ARGV[3])
local sound = (format == '' or format == '1') and keys + discarded == last
    and (ARGV[1] == '' or (ARGV[1] == identity and last >= seen))
    and (ARGV[4] == '' or last ~= seq or ARGV[4] == head)
local function reply(result)
    return {format, identity, trimmed, last, head, keys, discarded, result}
end
if not sound then return reply(false) end
"""

_BEGIN = """
if identity == '' then
    identity, head = ARGV[5], ARGV[5]
    redis.call('HSET', KEYS[1], 'format', '1', 'identity', identity, 'trimmed', 0,
        'head', head)
end
"""

# After the mark: identity, after, limit (zero: read nothing), key, row, body.
APPEND = f"""{_PRELUDE}
local after, limit = tonumber(ARGV[6]), tonumber(ARGV[7])
if limit > 0 and (after > last or after < trimmed) then return reply(false) end
{_BEGIN}
local new = redis.call('HSETNX', KEYS[3], ARGV[8], ARGV[10])
if new == 1 then
    last, keys = redis.call('RPUSH', KEYS[2], ARGV[9]) + trimmed, keys + 1
    head = redis.sha1hex(head .. ARGV[9])
    redis.call('HSET', KEYS[1], 'head', head)
end
local rows = {{}}
if limit > 0 then
    local start = after - trimmed
    rows = redis.call('LRANGE', KEYS[2], start, start + limit - 1)
end
return reply({{new, rows}})
"""

# After, limit.
READ = f"""{_PRELUDE}
local start = tonumber(ARGV[5]) - trimmed
if start < 0 or start > last - trimmed then return reply(false) end
return reply(redis.call('LRANGE', KEYS[2], start, start + ARGV[6] - 1))
"""

# Keys of bodies.
FETCH = f"""{_PRELUDE}
return reply(redis.call('HMGET', KEYS[3], unpack(ARGV, 5)))
"""

# A reader has two fields: where it is, and its snapshot, empty if it is only enrolled.
# Identity, seq, blob, reader.
SAVE_SNAPSHOT = f"""{_PRELUDE}
local seq, place, blob = tonumber(ARGV[6]), 'seq:' .. ARGV[8], 'blob:' .. ARGV[8]
if seq > last then return reply(false) end
{_BEGIN}
local kept = tonumber(redis.call('HGET', KEYS[4], place) or '-1')
if seq > kept or (seq == kept and redis.call('HSTRLEN', KEYS[4], blob) == 0) then
    redis.call('HSET', KEYS[4], place, seq, blob, ARGV[7])
end
return reply(1)
"""

# Reader.
LOAD_SNAPSHOT = f"""{_PRELUDE}
return reply(redis.call('HMGET', KEYS[4], 'seq:' .. ARGV[5], 'blob:' .. ARGV[5]))
"""

# Reader.
DROP_READER = f"""{_PRELUDE}
return reply(redis.call('HDEL', KEYS[4], 'seq:' .. ARGV[5], 'blob:' .. ARGV[5]))
"""

# Seq.
TRIM = f"""{_PRELUDE}
local covered = nil
for _, field in ipairs(redis.call('HKEYS', KEYS[4])) do
    if string.sub(field, 1, 4) == 'seq:' then
        local seq = tonumber(redis.call('HGET', KEYS[4], field))
        covered = math.min(covered or seq, seq)
    end
end
local seq = math.min(tonumber(ARGV[5]), covered or 0)
local dropped = math.max(0, seq - trimmed)
if dropped > 0 then
    redis.call('LTRIM', KEYS[2], dropped, -1)
    redis.call('HSET', KEYS[1], 'trimmed', seq)
end
return reply(dropped)
"""

# Keys of bodies.
DISCARD = f"""{_PRELUDE}
local gone = redis.call('HDEL', KEYS[3], unpack(ARGV, 5))
if gone > 0 then redis.call('HINCRBY', KEYS[1], 'discarded', gone) end
return reply(gone)
"""

# Goes before other commands of one transaction, to say what they are the replies of.
STANDING = f"""{_PRELUDE}
return reply(1)
"""

# What is restored waits under two keys of its own, rows and bodies, until it is whole.
# Who is sent again finds it in its place, under its identity.
_EMPTY = """
local readers = redis.call('HLEN', KEYS[4]) / 2
if identity == ARGV[5] then return reply({0, 0}) end
if last > 0 or readers > 0 then return reply({last, readers}) end
"""

# Identity, how many rows wait already, seconds to wait, number of rows, rows, then keys
# and bodies in turns.
STAGE = f"""{_PRELUDE}{_EMPTY}
local n_rows = tonumber(ARGV[8])
if redis.call('LLEN', KEYS[5]) == tonumber(ARGV[6]) and n_rows > 0 then
    redis.call('RPUSH', KEYS[5], unpack(ARGV, 9, 8 + n_rows))
end
if #ARGV > 8 + n_rows then redis.call('HSET', KEYS[6], unpack(ARGV, 9 + n_rows)) end
redis.call('EXPIRE', KEYS[5], ARGV[7])
redis.call('EXPIRE', KEYS[6], ARGV[7])
return reply({{0, 0}})
"""

# Identity, trimmed, number of rows, number of bodies, head, then reader, seq and snapshot
# in turns. Replies -1 where not all is waiting.
RESTORE = f"""{_PRELUDE}{_EMPTY}
local n_rows, n_bodies = tonumber(ARGV[7]), tonumber(ARGV[8])
if redis.call('LLEN', KEYS[5]) ~= n_rows or redis.call('HLEN', KEYS[6]) ~= n_bodies then
    return reply({{-1, 0}})
end
redis.call('DEL', KEYS[1])
for i = 2, 3 do
    if redis.call('EXISTS', KEYS[i + 3]) == 1 then
        redis.call('RENAME', KEYS[i + 3], KEYS[i])
        redis.call('PERSIST', KEYS[i])
    end
end
redis.call('HSET', KEYS[1], 'format', '1', 'identity', ARGV[5], 'trimmed', ARGV[6],
    'head', ARGV[9], 'discarded', ARGV[6] + n_rows - n_bodies)
for i = 10, #ARGV, 3 do
    redis.call('HSET', KEYS[4], 'seq:' .. ARGV[i], ARGV[i + 1], 'blob:' .. ARGV[i],
        ARGV[i + 2])
end
return reply({{0, 0}})
"""
