-- release.lua - step_release()
local key, session, turn, provider, model = arg(), arg(), arg(), arg(), arg()
local call = get('call', key) or new_call(session, turn, '', provider, model, '')
if call.state ~= HELD then
	return finish('OK')
end
call.state = IS_UNSENT
call.flags = with_flag(call.flags, UNSENT)
call.settled_at = whole(clock)
charge_scopes(call, money(call.amount), ZERO, 0, true)
put_call(key, call)
return finish('OK')
