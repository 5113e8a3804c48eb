"""The clients through weir's proxy door: the programs that fetch, and the agents with their model's API.

A model's API is twice here: at a host that policy allows, as any other host is, and at
one that the gateway meters, which no other door leads to.
"""
import subprocess

from clients import proxied, through
from rig import dns, families, gateway as rig_gateway, origin as origins, provider as rig_provider, tls, weir
from rig import token as tokens
from table import CLIENTS

KEY = "-".join(["sk", "agent", "fedcba9876543210" * 2])  # the agent's own: it goes to the host that is allowed
PROMPT = "What is the answer? Say it in one word."
LOOPBACK = ["127.0.0.0/8"]


class Rig:
    """weir with a policy, and the hosts that it is about."""

    def __init__(self, directory, modules):
        self.directory, self.modules = directory, modules
        self.dns = dns.Dns()
        self.dns.set({}, {"A": ["127.0.0.1"], "ttl": 0})  # every name is here: policy keeps them apart
        self.authority = tls.Authority(str(directory))
        self.plain = origins.Upstream(reply=through.reply)
        self.plain.listen(80)
        self.secure = origins.Upstream(serve=tls.tls_serve(self.authority.context(proxied.ALLOWED), origins.http_serve),
                                       reply=through.reply)
        self.secure.listen(443)
        self.models = rig_provider.Provider(self.authority, "models.test")
        self.metered = rig_provider.Provider(self.authority)
        self.store = directory / "store"
        (directory / "weir").mkdir()
        self.weir = weir.Weir([self.policy()], self.config(), directory=str(directory / "weir"),
                              environment=rig_gateway.ENVIRONMENT)

    def policy(self):
        hosts = [(proxied.ALLOWED, "http", 80), (proxied.ALLOWED, "https", 443), (self.models.name, "https", self.models.port)]
        return {"policy": "clients", "allow": [{"host": host, "protocol": protocol, "ports": [port], "private": LOOPBACK}
                                               for host, protocol, port in hosts]}

    def config(self):
        return dict(through.CONFIG, listen=rig_gateway.listen(), dns={"servers": [self.dns.server]},
                    tls={"roots": self.authority.certificate}, ledger={"url": "sqlite:ledger.db"},
                    gateway={"prices": str(rig_provider.PRICES), "providers": [
                        rig_gateway.row(kind, self.metered) for kind in ("anthropic", "openai", "gemini")]})

    def trip(self, name, has_token=True):
        token = tokens.mint(rig_gateway.SECRET, name) if has_token else None
        trip = through.Trip(self.weir, token, self.authority.certificate, self.directory, self.modules)
        trip.words.update(store=self.java_store(), password="changeit")
        return trip

    def java_store(self):
        """Java wants the authority in a file of its own kind."""
        if not self.store.exists():
            subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", "authority", "-file", self.authority.certificate,
                            "-keystore", str(self.store), "-storetype", "PKCS12", "-storepass", "changeit"],
                           check=True, capture_output=True)
        return str(self.store)

    def close(self):
        self.weir.stop()
        for one in (self.plain, self.secure, self.models, self.metered, self.dns):
            one.close()


# -- the programs


def summary(trip):
    return "%d requests, status %s" % (len(trip.asked), trip.status)


def try_program(rig, program, tally):
    for scheme in ("https", "http"):
        trip = rig.trip(program.name)
        wrong = list(through.allowed(trip, program, scheme))
        tally.take("%s, an allowed %s:// URL" % (program.name, scheme), wrong, summary(trip), trip)
        trip.close()
    for what in (proxied.TUNNEL, proxied.CLEAR, proxied.NO_TOKEN):
        trip = rig.trip(program.name, what != proxied.NO_TOKEN)
        wrong = list(through.refused(trip, program, what))
        tally.take("%s, %s" % (program.name, what), wrong, "%s; shows %s" % (
            summary(trip), through.shown(trip.text(), through.expected(program, what)[0])), trip)
        trip.close()


# -- the agents


def prompt(rig, agent, provider):
    client = next(c for c in CLIENTS if c.name == agent.name)
    provider.reset()
    provider.bodies, provider.billed = [], []
    provider.answer = families.everything(proxied.ANSWER, client.tool)
    trip = rig.trip(agent.name)
    return trip.run(client, agent.patience, url=provider.url, token=KEY, prompt=PROMPT)


def with_its_model(rig, trip, agent):
    """What is wrong, where its model's host is allowed."""
    if trip.status != 0 or proxied.ANSWER not in trip.output:
        yield "it ended with %s and shows no answer" % trip.status
    if not rig.models.requests:
        yield "its model was not asked"
    if trip.token.encode() in rig.models.bytes():
        yield "the session token reached the model"
    yield from trip.not_recorded()
    yield from trip.not_its_own(agent.name)


def without_its_model(rig, trip, agent):
    """What is wrong, where its model's host is metered."""
    told = [r for r in trip.records() if r["target"]["host"] == rig.metered.name]
    if (trip.status is not None) != agent.ends:
        yield "it ended with %s" % trip.status
    if trip.status == 0:
        yield "it ended as if all were well"
    if not 0 < len(told) <= agent.asks:
        yield "it asked %d times, not %d" % (len(told), agent.asks)
    if {r["reason"] for r in told} != {"metered_host"}:
        yield "refused for %s" % sorted({r["reason"] for r in told})
    if rig.metered.requests:
        yield "the provider was asked"
    if through.shown(trip.text(), "metered_host") != agent.shows or agent.words not in trip.text():
        yield "of the refusal it shows %s, not %s" % (through.shown(trip.text(), "metered_host"), agent.shows)
    yield from trip.not_recorded()
    yield from trip.not_its_own(agent.name)


def try_agent(rig, agent, tally):
    trip = prompt(rig, agent, rig.models)
    tally.take("%s, its model at an allowed host" % agent.name, list(with_its_model(rig, trip, agent)),
               "%d calls in %d requests" % (len(rig.models.requests), len(trip.asked)), trip)
    trip.close()
    trip = prompt(rig, agent, rig.metered)
    tally.take("%s, its model at a metered host" % agent.name, list(without_its_model(rig, trip, agent)), "%s; shows %s" % (
        summary(trip), through.shown(trip.text(), "metered_host")), trip)
    trip.close()


def whole(rig):
    """What is wrong with the journal at the end: no id is there twice."""
    ids = [r["id"] for r in rig.weir.finals()]
    return [] if len(ids) == len(set(ids)) else ["%d of %d ids are there again" % (len(ids) - len(set(ids)), len(ids))]


def try_all(rig, names, tally):
    for program in proxied.PROGRAMS:
        if not names or program.name in names:
            try_program(rig, program, tally)
    for agent in proxied.AGENTS:
        if not names or agent.name in names:
            try_agent(rig, agent, tally)
    tally.take("the journal", whole(rig), "%d exchanges" % len(rig.weir.finals()))


def names():
    return {one.name for one in proxied.PROGRAMS + proxied.AGENTS}
