-- sweep.lua - step_sweep(); notes and tombs expire by themselves here
local keys = redis.call('ZRANGEBYSCORE', LEASES, '-inf', whole(clock), 'LIMIT', 0, 64)
for _, key in ipairs(keys) do
	local call = get('call', key)
	if call and call.state == HELD then
		lose(key, call)
	else
		redis.call('ZREM', LEASES, key)
	end
end
reply.number = whole(#keys)
return finish('OK')
