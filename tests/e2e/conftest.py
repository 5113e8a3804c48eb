"""Fixtures: a namespace for each worker, a DNS server, origins, weirs; all ended with the test."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig import client as rig_client  # noqa: E402
from rig import dns as rig_dns  # noqa: E402
from rig import gateway as rig_gateway  # noqa: E402
from rig import netns, origin as rig_origin, tls  # noqa: E402
from rig import provider as rig_provider  # noqa: E402
from rig import weir as rig_weir  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: minutes or gigabytes; runs only with WEIR_SOAK=1")
    config.addinivalue_line("markers", "plain: of what a sanitizer's build cannot do, such as living in little memory, "
                            "and of clients, to which weir does what other tests have it do, too")
    config.addinivalue_line("markers", "command: of commands with one thread, in which TSan has nothing to find")
    config.addinivalue_line("markers", "single: of one client at a time: what threads share, other tests touch more")


def pytest_collection_modifyitems(config, items):
    """Deselected, not skipped: a skipped test did not pass."""
    others = ([] if os.environ.get("WEIR_SOAK") == "1" else ["soak"]) + (["plain"] if rig_weir.SANITIZED else []) + \
        (["command", "single"] if "TSAN_OPTIONS" in os.environ else [])
    left = [i for i in items if any(i.get_closest_marker(name) for name in others)]
    config.hook.pytest_deselected(items=left)
    items[:] = [i for i in items if i not in left]


@pytest.fixture(scope="session")
def net():
    netns.own_mounts()
    return netns.enter()


@pytest.fixture(scope="session")
def dns_server(net):
    return rig_dns.Dns()


@pytest.fixture
def dns(dns_server):
    """Every name is 127.0.0.1 until the test says otherwise."""
    dns_server.set({}, {"A": ["127.0.0.1"], "ttl": 0})
    return dns_server


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return tls.Authority(str(tmp_path_factory.mktemp("ca")))


@pytest.fixture
def origin(net):
    """origin(serve=..., reply=...): an Upstream; call its listen() for ports."""
    made = []

    def make(**how):
        made.append(rig_origin.Upstream(**how))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.fixture
def upstream(origin):
    """Answers HTTP on the ordinary port."""
    one = origin()
    one.port = one.listen(80)
    return one


@pytest.fixture
def silent(origin):
    """Only listens, on a port of its own."""
    one = origin(serve=rig_origin.silent_serve)
    one.port = one.listen()
    return one


@pytest.fixture
def echo(origin):
    """Says what it hears, on a port of its own."""
    one = origin(serve=rig_origin.echo_serve)
    one.port = one.listen()
    return one


@pytest.fixture
def weir(dns, tmp_path):
    """weir(rules or a whole policy, config=...): a running weir that asks the test's DNS server."""
    made = []

    def make(policy, config=None, **how):
        policies = policy if isinstance(policy, list) and policy and "host" not in policy[0] else [
            {"policy": "test", "allow": policy} if isinstance(policy, list) else policy]
        config = dict({"dns": {"servers": [dns.server]}}, **(config or {}))
        directory = tmp_path / ("weir%d" % len(made))
        directory.mkdir()
        made.append(rig_weir.Weir(policies, config, directory=str(directory), **how))
        return made[-1]
    yield make
    for one in made:
        one.stop()


@pytest.fixture
def connect():
    """connect(weir): a raw client, closed with the test."""
    made = []

    def make(proxy, **how):
        made.append(rig_client.Client(proxy, **how))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.fixture
def provider(net, authority):
    one = rig_provider.Provider(authority)
    yield one
    one.close()


@pytest.fixture
def gateway(weir, provider, authority, dns):
    made = []

    def make(config=None, sessions=None, providers=None, policy=None, environment=None, **more):
        rows = [rig_gateway.row(kind, provider) for kind in rig_gateway.KEY_FIELDS]
        one = weir(policy or [], config=dict({
            "listen": rig_gateway.listen(),
            "tls": {"roots": authority.certificate},
            "sessions": sessions or rig_gateway.laptop(),
            "gateway": dict({"prices": str(rig_provider.PRICES), "providers": providers or rows}, **more)},
            **(config or {})), environment=dict(rig_gateway.ENVIRONMENT, **(environment or {})))
        made.append(rig_gateway.Gateway(one))
        return made[-1]
    yield make
    for one in made:  # whatever the test was about: the sums are right, and so is each bill
        done = one.ledger("verify", "--prices", str(rig_provider.PRICES))
        assert done.returncode == 0 and " 0 by other price tables" in done.stdout, done.stdout + done.stderr
