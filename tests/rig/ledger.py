"""A SQLite ledger made by hand, its tables from the same rows.def as weir's own."""
import json
import pathlib
import re
import sqlite3

ROWS = pathlib.Path(__file__).resolve().parents[2] / "src" / "ledger" / "rows.def"
HELD, SETTLED, LOST, UNSENT = range(4)
ESTIMATED, REPORTED, OVER_HOLD, LOST_FLAG = 1, 2, 16, 32
NOON = 1893499200 * 1000000  # 2030-01-01, µs


def shapes():
    """Of each kind of row: its fields and their types."""
    kinds = {}
    for what, kind, field in re.findall(r"^ROW(?:_(NUM|TEXT))?\((\w+), (\w+)\)", ROWS.read_text(), re.M):
        kinds.setdefault(field if not what else kind, [])
        if what:
            kinds[kind].append((field, "INTEGER" if what == "NUM" else "TEXT"))
    return kinds


def parts(*names):
    return "".join("%d:%s" % (len(n), n) for n in names)


class Ledger:
    def __init__(self, path):
        self.path = str(path)
        self.url = "sqlite:" + self.path
        self.kinds = shapes()
        self.db = sqlite3.connect(self.path)
        for kind, fields in self.kinds.items():
            self.db.execute("CREATE TABLE %s (key TEXT PRIMARY KEY, %s) STRICT, WITHOUT ROWID" % (
                kind, ", ".join("%s %s NOT NULL" % f for f in fields)))
        self.put("meta", "meta", format=1, revision=7, id="0" * 32)

    def put(self, kind, key, **values):
        fields = self.kinds[kind]
        row = [values.pop(name, 0 if type_ == "INTEGER" else "") for name, type_ in fields]
        assert not values, values
        self.db.execute("INSERT OR REPLACE INTO %s VALUES (?%s)" % (kind, ", ?" * len(fields)), [key, *row])
        self.db.commit()

    def session(self, sid, tenant="acme", issuer="app", **values):
        self.put("session", parts(issuer, tenant, sid), **{"first_use": NOON, "gen": 1, "sub": "u", **values})

    def call(self, request, sid="s1", tenant="acme", issuer="app", cost=0, charged=None, amount=None, usage=None,
             state=SETTLED, **values):
        """Charged to its session, its tenant and the whole, as weir would have done."""
        charged = cost if charged is None else charged
        amount = charged if amount is None else amount
        scopes = ["s" + parts(issuer, tenant, sid), "n" + parts("", tenant), "a"]
        self.put("call", request + "#1", **{
            "state": state, "amount": amount, "cost": cost, "charged": charged, "reserved_at": NOON,
            "settled_at": NOON + 1, "expires": 2**60, "session": parts(issuer, tenant, sid),
            "provider": "openai", "model": "m", "scopes": "".join(parts(s, str(5 * 10**9)) for s in scopes),
            "usage": "" if usage is None else json.dumps(usage), **values})
        for scope in scopes:
            self.charge(scope, amount if state == HELD else 0, 0 if state == HELD else charged)

    def charge(self, scope, held, spent):
        old = self.db.execute("SELECT reserved, spent, calls FROM scope WHERE key = ?", [scope]).fetchone() or (0, 0, 0)
        self.put("scope", scope, reserved=old[0] + held, spent=old[1] + spent, calls=old[2] + 1, gen=-1, claim=-1)

    def close(self):
        self.db.close()
