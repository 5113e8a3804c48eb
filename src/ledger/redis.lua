-- redis.lua - the ledger's rules inside Redis: what every script begins with
--
-- The same rules as step.c, who.c, scope.c and forget.c.  A script runs alone, so each is
-- one atomic step.  A row is its numbers, each with a comma behind, and then its texts,
-- each with its length in front (NUMS and TEXTS, in front of all this, are from rows.def).
--
-- Amounts have 63 bits and Lua's numbers 53, so an amount is two numbers, dollars and
-- nanos (0..10^9-1), both exact.  Times and counts fit.

local PREFIX = '{weir}:'
local LEASES = PREFIX .. 'leases' -- the calls that are held, by the end of their lease
local G = 1000000000
local LOST, LATE, UNHELD, UNSENT, ADJUSTED, OVER_HOLD = 32, 64, 128, 256, 512, 16
local HELD, SETTLED, IS_LOST, IS_UNSENT = '0', '1', '2', '3'

-- arguments, one after the other

local next_arg = 0
local function arg()
	next_arg = next_arg + 1
	return ARGV[next_arg]
end
local function num()
	return tonumber(arg())
end
local function whole(n)
	return string.format('%.0f', n)
end

-- amounts

local function money(text)
	local is_negative = text:sub(1, 1) == '-'
	local digits = is_negative and text:sub(2) or text
	local n = #digits
	local d, r = 0, tonumber(digits:sub(-9))
	if n > 9 then
		d = tonumber(digits:sub(1, n - 9))
	end
	if is_negative then
		d, r = -d, -r
		if r < 0 then
			d, r = d - 1, r + G
		end
	end
	return { d, r }
end
local function print_money(m)
	local d, r, sign = m[1], m[2], ''
	if d < 0 then
		d, r, sign = -d, -r, '-'
		if r < 0 then
			d, r = d - 1, r + G
		end
	end
	if d == 0 then
		return sign .. whole(r)
	end
	return sign .. string.format('%.0f%09.0f', d, r)
end
local function add(a, b)
	local d, r = a[1] + b[1], a[2] + b[2]
	if r >= G then
		d, r = d + 1, r - G
	end
	return { d, r }
end
local function sub(a, b)
	local d, r = a[1] - b[1], a[2] - b[2]
	if r < 0 then
		d, r = d - 1, r + G
	end
	return { d, r }
end
local function less(a, b)
	return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
end
local ZERO, MAX = { 0, 0 }, money('9000000000000000000')
local function within(m) -- sums stop at both ends
	if less(m, ZERO) then
		return ZERO
	end
	return less(MAX, m) and MAX or m
end
-- m * ppm / 10^6, rounded down; m is not negative.  fmod is exact, division is not.
local function share(m, ppm)
	local p, u = m[1] * ppm, m[2] * ppm
	local left = math.fmod(p, 1000000)
	local d = (p - left) / 1000000
	local r = left * 1000 + (u - math.fmod(u, 1000000)) / 1000000
	while r >= G do
		d, r = d + 1, r - G
	end
	return { d, r }
end

-- rows

local function get(kind, key)
	local text = redis.call('GET', PREFIX .. kind .. ':' .. key)
	if not text then
		return nil
	end
	local nums, row = NUMS[kind], {}
	local found = { text:match('^' .. string.rep('(%-?%d+),', #nums) .. '()') }
	for i, name in ipairs(nums) do
		row[name] = found[i]
	end
	local at = found[#nums + 1]
	for _, name in ipairs(TEXTS[kind]) do
		local colon = text:find(':', at, true)
		local n = tonumber(text:sub(at, colon - 1))
		row[name] = text:sub(colon + 1, colon + n)
		at = colon + n + 1
	end
	return row
end
local has_written = false
local function put(kind, key, row)
	local parts, n = {}, 0
	for i, name in ipairs(NUMS[kind]) do
		n = i
		parts[i] = row[name]
	end
	parts[n + 1] = ''
	local texts = {}
	for i, name in ipairs(TEXTS[kind]) do
		texts[i] = #row[name] .. ':' .. row[name]
	end
	redis.call('SET', PREFIX .. kind .. ':' .. key,
		table.concat(parts, ',') .. table.concat(texts))
	has_written = true
end
local function del(kind, key)
	redis.call('DEL', PREFIX .. kind .. ':' .. key)
	has_written = true
end
-- The parts of a key or of a call's scopes: a list.
local function split(text)
	local parts, at = {}, 1
	while at <= #text do
		local colon = text:find(':', at, true)
		local n = colon and tonumber(text:sub(at, colon - 1))
		if not n then
			break
		end
		parts[#parts + 1] = text:sub(colon + 1, colon + n)
		at = colon + n + 1
	end
	return parts
end
local function part(text)
	return #text .. ':' .. text
end

-- which store this is, and what time

local seen_id, seen_revision, new_id, shift = arg(), num(), arg(), num()
local meta = get('meta', 'meta')
if seen_id ~= '' and
    (not meta or meta.id ~= seen_id or tonumber(meta.revision) < seen_revision) then
	return { 'ROLLED_BACK' }
end
if not meta then
	meta = { format = FORMAT, revision = '0', clock = '0', lease = '0', id = new_id }
	put('meta', 'meta', meta)
end
if meta.format ~= FORMAT then
	return { 'AWAY', 'another version of weir made this ledger' }
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2]) + shift
local clock = math.max(now, tonumber(meta.clock))

-- the answer

local reply = { answer = 'OK', granted = '0', charged = '0', flags = '0', is_repeat = '0',
	refused = '0', is_in_flight = '0', first_use = '0', gen = '0', claims = '', number = '0',
	kin = {}, room = {}, note = {} }
local function finish(answer)
	if has_written then
		meta.revision = whole(tonumber(meta.revision) + 1)
		meta.clock, meta.lease = whole(clock), whole(clock)
		put('meta', 'meta', meta)
	end
	local r = reply
	local out = { answer or r.answer, meta.id, meta.revision, whole(clock), r.granted,
		r.charged, r.flags, r.is_repeat, r.refused, r.is_in_flight, r.first_use, r.gen,
		r.claims, r.number, whole(#r.kin), whole(#r.room), whole(#r.note) }
	for _, list in ipairs({ r.kin, r.room, r.note }) do
		for _, text in ipairs(list) do
			out[#out + 1] = text
		end
	end
	return out
end

-- scopes

local function scope_of(key)
	return get('scope', key) or { spent = '0', reserved = '0', base = '0', claim = '0',
		gen = '-1', calls = '0', tokens = '0' }
end
local function say_room(cap, row)
	for _, text in ipairs({ cap, row.spent, row.reserved, row.calls, row.tokens }) do
		reply.room[#reply.room + 1] = text
	end
end
local function remember(row, claim, gen) -- scope_remember()
	local old = tonumber(row.gen)
	if claim == '-1' or gen < old or
	    (gen == old and not less(money(claim), money(row.claim))) then
		return false
	end
	row.claim, row.gen = claim, whole(gen)
	return true
end
local function cap_of(row, asked) -- scope_cap()
	local cap = money(asked.cap)
	if tonumber(row.gen) >= 0 and less(money(row.claim), cap) then
		cap = money(row.claim)
	end
	if asked.claim ~= '-1' and less(money(asked.claim), cap) then
		cap = money(asked.claim)
	end
	return cap
end
local function charge(row, held, charged, tokens) -- scope_charge()
	row.reserved = print_money(within(sub(money(row.reserved), held)))
	row.spent = print_money(within(add(money(row.spent), charged)))
	row.tokens = whole(tonumber(row.tokens) + tokens)
end
local function days_to_month(days) -- since 1970, in the calendar of Gregory
	local z = days + 719468
	local era = math.floor(z / 146097)
	local doe = z - era * 146097
	local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) -
		math.floor(doe / 146096)) / 365)
	local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
	local mp = math.floor((5 * doy + 2) / 153)
	local month = mp < 10 and mp + 3 or mp - 9
	local year = yoe + era * 400 + (month <= 2 and 1 or 0)
	return (year - 1970) * 12 + month - 1
end
local function window(kind)
	if kind == '0' then
		return ''
	end
	local days = math.floor(clock / 86400000000)
	return kind == '1' and 'd' .. whole(days) or 'm' .. whole(days_to_month(days))
end
local function read_scopes()
	local scopes = {}
	for i = 1, num() do
		scopes[i] = { key = arg(), window = arg(), cap = arg(), claim = arg(),
			gen = num(), max_calls = num(), max_tokens = num() }
	end
	return scopes
end
local function load_scopes(scopes, is_look)
	for _, s in ipairs(scopes) do
		s.key = s.key .. window(s.window)
		s.row = scope_of(s.key)
		if remember(s.row, s.claim, s.gen) and not is_look then
			put('scope', s.key, s.row)
		end
		s.room_cap = cap_of(s.row, s)
	end
end
local function say_rooms(scopes)
	for _, s in ipairs(scopes) do
		say_room(print_money(s.room_cap), s.row)
	end
end
local function print_scopes(scopes)
	local text = ''
	for _, s in ipairs(scopes) do
		text = text .. part(s.key) .. part(print_money(s.room_cap))
	end
	return text
end
local function charge_scopes(call, held, charged, tokens, is_silent)
	local parts = split(call.scopes)
	local is_charge = held ~= ZERO or charged ~= ZERO or tokens ~= 0
	for i = 1, #parts, 2 do
		local row = scope_of(parts[i])
		if is_charge then
			charge(row, held, charged, tokens)
			put('scope', parts[i], row)
		end
		if not is_silent then
			say_room(parts[i + 1], row)
		end
	end
end

-- calls

local function new_call(session, turn, scopes, provider, model, prices)
	return { state = HELD, amount = '0', cost = '0', charged = '0', flags = '0', input = '0',
		cached = '0', output = '0', reserved_at = whole(clock), expires = '0',
		settled_at = '0', session = session, turn = turn, scopes = scopes,
		provider = provider, model = model, prices = prices, usage = '' }
end
local function with_flag(flags, flag)
	local n = tonumber(flags)
	if math.floor(n / flag) % 2 == 0 then
		n = n + flag
	end
	return whole(n)
end
local function put_call(key, call)
	put('call', key, call)
	if call.state == HELD then
		redis.call('ZADD', LEASES, call.expires, key)
	else
		redis.call('ZREM', LEASES, key)
	end
end
local function lose(key, call) -- step_lose()
	call.state = IS_LOST
	call.flags = with_flag(call.flags, LOST)
	call.cost, call.charged = call.amount, call.amount
	call.settled_at = whole(clock)
	charge_scopes(call, money(call.amount), money(call.charged), 0, true)
	put_call(key, call)
end

-- sessions

local function read_who()
	local who = { is_any = arg() == '1', session = arg(), scope = arg(), jti = arg(),
		issuer = arg(), tenant = arg(), sid = arg(), sub = arg(), par = arg(),
		turn = arg(), claims = arg(), gen = num(), expires = num(), claim = arg(),
		is_concurrent = arg() == '1', tombs = {} }
	for i = 1, 4 do
		who.tombs[i] = arg()
	end
	return who
end
local function is_forgotten(who)
	for _, key in ipairs(who.tombs) do
		local tomb = get('tomb', key)
		if tomb and tonumber(tomb.ends) > clock then
			return true
		end
	end
	return false
end
local function find_kin(who, par)
	local n = 0
	while par ~= '' do
		local row = n < 8 and par ~= who.sid and
			get('session', part(who.issuer) .. part(who.tenant) .. part(par))
		if not row or row.sub ~= who.sub then
			return 'KIN'
		end
		if row.revoked ~= '0' then
			return 'REVOKED'
		end
		n = n + 1
		reply.kin[#reply.kin + 1] = par
		reply.kin[#reply.kin + 1] = row.claims
		reply.kin[#reply.kin + 1] = row.first_use
		par = row.par
	end
	return 'OK'
end
local function judge(who) -- who_judge()
	if not who.is_any then
		return 'OK'
	end
	if is_forgotten(who) then
		return 'FORGOTTEN'
	end
	if who.jti ~= '' then
		local note = get('note', who.jti)
		if note and tonumber(note.ends) > clock then
			return 'REVOKED'
		end
	end
	local row = get('session', who.session)
	local is_changed = not row
	row = row or { first_use = whole(clock), gen = '-1', turn_gen = '-1', revoked = '0',
		expires = '0', sub = who.sub, par = who.par, turn = '', claims = '' }
	if row.revoked ~= '0' then
		return 'REVOKED'
	end
	if row.sub ~= who.sub then
		return 'OWNER'
	end
	if row.par ~= who.par then
		return 'KIN'
	end
	local answer = find_kin(who, row.par)
	if answer ~= 'OK' then
		return answer
	end
	local has_turn = who.turn ~= '' and not who.is_concurrent
	if has_turn and row.turn ~= '' and who.turn ~= row.turn and
	    who.gen <= tonumber(row.turn_gen) then
		return 'TURN_ENDED'
	end
	if who.gen > tonumber(row.gen) then
		row.gen, row.claims, is_changed = whole(who.gen), who.claims, true
	end
	if who.expires > tonumber(row.expires) then
		row.expires, is_changed = whole(who.expires), true
	end
	if has_turn and (row.turn == '' or who.gen > tonumber(row.turn_gen)) then
		row.turn, row.turn_gen, is_changed = who.turn, whole(who.gen), true
	end
	if is_changed then
		put('session', who.session, row)
	end
	if who.claim ~= '-1' then
		local scope = scope_of(who.scope)
		if remember(scope, who.claim, who.gen) then
			put('scope', who.scope, scope)
		end
	end
	reply.first_use, reply.gen = row.first_use, row.gen
	if tonumber(row.gen) > who.gen then
		reply.claims = row.claims
	end
	return 'OK'
end
