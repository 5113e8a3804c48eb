/*
 * ledger.pml - reserve, settle, crash: what the ledger's protocol must keep
 *
 * Two weirs (each one call at a time, over and over) share a store.  A step of the store
 * is atomic; everything around it is not: a question may be lost on its way there or its
 * answer on the way back, a weir may die at any moment and start again with nothing in
 * its memory, a lease may end while its call still runs, and a settle is sent until it
 * is answered.
 *
 * What is checked, in every reachable state:
 *	cap     spent + reserved <= CAP, for each grant (a settle may cost more: OVER)
 *	bill    what the provider has delivered is never more than what was charged or
 *	        is still reserved, beyond what calls cost over their reservation
 *	once    a call is charged once, whatever is sent again
 *	unsent  a call that was given back was never sent, and stays given back
 *	sums    spent and reserved are what the calls were charged and hold
 */
#define WEIRS 2
#define CALLS 2 /* of each weir */
#define CAP 4
#define WANT 2 /* of each reservation; two fit, three do not */
#define N (WEIRS * CALLS)

mtype = { NONE, HELD, SETTLED, LOST, UNSENT };

/* the store */
mtype state[N] = NONE;
byte charged[N];
byte spent, reserved;

/* the world */
bool sent[N];      /* the call went to the provider */
byte delivered[N]; /* what it will be billed for */
byte late = N;     /* a reserve that is still under way to the store */
bool released[N];
byte settles[N];   /* how often a charge was made that was not a correction upwards */

inline check_bill() {
	d_step {
		i = 0;
		do
		:: i < N ->
			assert(!(state[i] == UNSENT && sent[i] && delivered[i] > 0));
			assert(!(state[i] == NONE && sent[i]));
			assert(!(state[i] == HELD && delivered[i] > WANT + 1));
			assert(!(state[i] == SETTLED && charged[i] < delivered[i]));
			assert(!(state[i] == LOST && charged[i] < WANT));
			assert(settles[i] <= 1);
			/* given back is given back, unless its lease had ended before */
			assert(!(released[i] && state[i] != UNSENT && state[i] != LOST));
			sum = sum + charged[i];
			held = held + (state[i] == HELD -> WANT : 0);
			i++
		:: else -> break
		od;
		assert(sum == spent && held == reserved);
		i = 0;
		sum = 0;
		held = 0
	}
}

/* step_reserve(): grants, or says what it granted before */
inline store_reserve(c, ok) {
	atomic {
		if
		:: state[c] == HELD -> ok = true
		:: state[c] == NONE && spent + reserved + WANT <= CAP ->
			state[c] = HELD;
			reserved = reserved + WANT;
			assert(spent + reserved <= CAP);
			ok = true
		:: else -> ok = false
		fi
	}
}

/* step_settle(): once; later than the lease it only adds what was more */
inline store_settle(c, cost) {
	atomic {
		if
		:: state[c] == HELD ->
			reserved = reserved - WANT;
			spent = spent + cost;
			charged[c] = cost;
			settles[c]++;
			state[c] = SETTLED
		:: state[c] == LOST ->
			if
			:: cost > charged[c] ->
				spent = spent + cost - charged[c];
				charged[c] = cost
			:: else
			fi;
			state[c] = SETTLED
		:: else /* SETTLED before; UNSENT and NONE cannot be */
		fi
	}
}

/* step_release(): also uses up the name of a reserve that has not come yet */
inline store_release(c) {
	atomic {
		if
		:: state[c] == HELD ->
			reserved = reserved - WANT;
			state[c] = UNSENT
		:: state[c] == NONE -> state[c] = UNSENT
		:: else
		fi
	}
}

inline lose(c) {
	atomic {
		state[c] == HELD ->
		state[c] = LOST;
		reserved = reserved - WANT;
		spent = spent + WANT;
		charged[c] = WANT;
		settles[c]++
	}
}

/* Leases end whenever they like, and a question may come late. */
active proctype world() {
	bool ok;
end:
	do
	:: lose(0)
	:: lose(1)
	:: lose(2)
	:: lose(3)
	:: late < N -> store_reserve(late, ok); ok = false; late = N
	od
}

/* A weir that dies (goto dead) forgets c's outcome and goes on with the next call. */
active [WEIRS] proctype weir() {
	byte i = 0, sum = 0, held = 0, c, cost, call = 0;
	bool ok, is_known;
	byte me = _pid - 1;

	do
	:: call == CALLS -> break
	:: else ->
		c = me * CALLS + call;
		ok = false;
		is_known = false;
		cost = 0;
		/* the reserve: not sent, or done and answered, or done and the answer lost */
		if
		:: goto dead
		:: skip
		:: true -> store_reserve(c, ok); is_known = true
		:: true -> store_reserve(c, ok)
		:: late == N -> late = c
		fi;
		if
		:: goto dead
		:: !is_known -> /* in doubt: refuse the client, give it back until answered */
			if
			:: goto dead
			:: true -> store_release(c)
			fi;
			released[c] = true;
			goto done
		:: is_known && !ok -> goto done
		:: is_known && ok
		fi;
		/* upstream */
		sent[c] = true;
		if
		:: cost = 1
		:: cost = WANT
		:: cost = WANT + 1 /* more than was held */
		fi;
		delivered[c] = cost;
		/* what nobody is there to say may not be beyond the bound */
		if
		:: cost <= WANT -> goto dead
		:: true
		fi;
		store_settle(c, cost);
		if
		:: true -> store_settle(c, cost) /* the answer was lost */
		:: true
		fi;
dead:
done:
		check_bill();
		call++
	od
}
