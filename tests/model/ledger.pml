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
 *	unsent  a call that was given back was never sent
 */
#define WEIRS 2
#define CALLS 2 /* of each weir */
#define CAP 4
#define WANT 2 /* of each reservation; two fit, three do not */
#define N (WEIRS * CALLS)

mtype = { NONE, HELD, SETTLED, LOST, UNSENT };

/* the store */
mtype state[N];
byte charged[N];
byte spent, reserved;

/* the world */
bool sent[N];      /* the call went to the provider */
byte delivered[N]; /* what it will be billed for */
byte settles[N];   /* how often a charge was made that was not a correction upwards */

inline check_bill() {
	d_step {
		i = 0;
		do
		:: i < N ->
			assert(!(state[i] == UNSENT && sent[i] && delivered[i] > 0));
			assert(!(state[i] == NONE && sent[i]));
			assert(!(state[i] == SETTLED && charged[i] < delivered[i]));
			assert(!(state[i] == LOST && charged[i] < WANT));
			assert(settles[i] <= 1);
			i++
		:: else -> break
		od;
		i = 0
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

/* Leases end whenever they like. */
active proctype sweep() {
	byte i = 0;
end:
	do
	:: atomic {
		i < N && state[i] == HELD ->
		state[i] = LOST;
		reserved = reserved - WANT;
		spent = spent + WANT;
		charged[i] = WANT;
		settles[i]++;
		i = 0
	}
	:: atomic { i < N -> i++ }
	:: atomic { i == N -> i = 0 }
	od
}

/* A weir that dies (goto dead) forgets c's outcome and goes on with the next call. */
active [WEIRS] proctype weir() {
	byte i = 0, c, cost, call = 0;
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
		:: store_reserve(c, ok); is_known = true
		:: store_reserve(c, ok)
		fi;
		if
		:: goto dead
		:: !is_known -> /* in doubt: refuse the client, give it back until answered */
			if
			:: goto dead
			:: store_release(c); store_release(c)
			fi;
			goto done
		:: is_known && !ok -> goto done
		:: is_known && ok
		fi;
		/* upstream */
		sent[c] = true;
		if
		:: cost = 0
		:: cost = 1
		:: cost = WANT
		:: cost = WANT + 1 /* more than was held */
		fi;
		/* a weir that is dead reads no more: what it delivers is within the bound */
		if
		:: cost <= WANT -> delivered[c] = cost; goto dead
		:: skip
		fi;
		if
		:: store_settle(c, cost); delivered[c] = cost
		:: store_settle(c, cost); store_settle(c, cost); delivered[c] = cost
		fi;
dead:
done:
		check_bill();
		call++
	od
}
