-- settle.lua - step_settle()
local key, who, scopes, cost = arg(), read_who(), read_scopes(), money(arg())
local input, cached, output, flags = num(), num(), num(), num()
local usage, prices, model = arg(), arg(), arg()

local function note_usage(call)
	call.cost = print_money(cost)
	call.input, call.cached, call.output = whole(input), whole(cached), whole(output)
	for _, flag in ipairs({ 1, 2, 4, 8 }) do
		if math.floor(flags / flag) % 2 == 1 then
			call.flags = with_flag(call.flags, flag)
		end
	end
	call.settled_at = whole(clock)
	call.usage = usage ~= '' and usage or call.usage
	call.prices = prices ~= '' and prices or call.prices
	call.model = model ~= '' and model or call.model
	call.state = SETTLED
	if less(money(call.amount), cost) then
		call.flags = with_flag(call.flags, OVER_HOLD)
	end
end
local function settle_held(call)
	note_usage(call)
	call.charged = call.cost
	charge_scopes(call, money(call.amount), cost, input + output)
	put_call(key, call)
end
local function settle_late(call)
	local charged, more = money(call.charged), ZERO
	if less(charged, cost) then
		more = sub(cost, charged)
	end
	note_usage(call)
	call.charged = print_money(add(charged, more))
	call.flags = with_flag(call.flags, LATE)
	charge_scopes(call, ZERO, more, input + output)
	put_call(key, call)
end

local call = get('call', key)
if not call then
	if #scopes == 0 then
		return finish('NOT_HELD')
	end
	if who.is_any and is_forgotten(who) then
		return finish('FORGOTTEN')
	end
	load_scopes(scopes)
	call = new_call(who.session, who.turn, print_scopes(scopes), '', model, prices)
	call.flags = whole(UNHELD)
	settle_held(call)
elseif call.state == HELD then
	settle_held(call)
elseif call.state == SETTLED or (call.state == IS_UNSENT and not less(ZERO, cost)) then
	reply.is_repeat = '1'
	charge_scopes(call, ZERO, ZERO, 0)
else
	settle_late(call)
end
reply.charged, reply.flags = call.charged, call.flags
return finish('OK')
