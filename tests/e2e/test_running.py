"""Running weir: start, reload, drain, stop, and what it says when it cannot."""
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection

import pytest

from rig import hello, netns, origin as origins, seccomp
from rig.weir import Weir, binary, free_port, proxy_and_health, wait_for
from rules import http, https, is_refusal, tcp

NAME = "allowed.test"


def get(proxy, connect, url="http://allowed.test/"):
    sock = connect(proxy)
    answer = sock.get(url)
    sock.close()
    return answer


def open_tunnel(proxy, connect, port, name=NAME):
    sock = connect(proxy)
    assert sock.connect("%s:%d" % (name, port)).status == 200
    sock.send(b"ping")
    assert sock.read_until(lambda data: data == b"ping")
    sock.data = b""
    return sock


# -- reload

def test_reload_swaps_the_policy_in_one_step(weir, upstream, connect):
    proxy = weir([http(NAME)])
    assert get(proxy, connect).status == 200
    assert get(proxy, connect, "http://other.test/").status == 403
    proxy.reload([{"policy": "second", "allow": [http("other.test")]}])
    wait_for(lambda: get(proxy, connect, "http://other.test/").status == 200, what="the new policy")
    assert get(proxy, connect).status == 403
    first = proxy.finals(1)[0]["generation"]
    proxy.audit(lambda records: any(r.get("generation") == first + 1 for r in records if r["kind"] == "http"),
                what="a record of the new generation")


@pytest.mark.parametrize("broken", [
    "allow: [", "allow:\n  - host: '*example'\n", "alow: []\n", '{"allow":[{"host":"other.test","protocol":"http","portz":[1]}]}',
    '{"allow":[{"host":"other.test","protocol":"http"}],"expect":[{"deny":"GET http://other.test/"}]}',
], ids=["syntax", "pattern", "key", "rule key", "its own test"])
def test_a_broken_policy_leaves_the_old_one(weir, upstream, connect, broken):
    proxy = weir([http(NAME)])
    assert get(proxy, connect).status == 200
    before = len(proxy.log())
    proxy.reload([broken])
    wait_for(lambda: "policy0.yaml" in proxy.log()[before:], what="a word about the broken policy")
    assert get(proxy, connect).status == 200
    assert get(proxy, connect, "http://other.test/").status == 403


def test_a_refused_reload_names_line_and_column_where_there_are_any(weir, upstream):
    proxy = weir([http(NAME)])
    proxy.reload(["policy: p\nalow: []\n"])
    wait_for(lambda: "reload refused" in proxy.log(), what="a word about the broken policy")
    assert "code=unknown_key file=%s line=2 column=1" % proxy.path("policy0.yaml") in proxy.log()
    os.unlink(proxy.path("policy0.yaml"))
    proxy.signal(signal.SIGHUP)
    wait_for(lambda: proxy.log().count("reload refused") == 2, what="a word about the policy that is not there")
    assert "code=missing_file" in proxy.log() and "line=0" not in proxy.log()


def test_what_waits_for_the_next_start_is_measured_against_the_last_one(weir, upstream):
    proxy = weir([http(NAME)], {"workers": 1})

    def reload(workers, times):
        proxy.config["workers"] = workers
        proxy.reload()
        wait_for(lambda: proxy.log().count(" reloaded ") == times, what="reload %d" % times)
        return proxy.log().count("takes effect at the next start key=workers")
    assert reload(2, 1) == 1
    assert reload(2, 2) == 2, "it still waits"
    assert reload(1, 3) == 2, "it is what is in force"


def test_a_new_redact_key_marks_secrets_in_the_log_too(weir, tmp_path):
    keys = [tmp_path / name for name in ("old.key", "new.key")]
    for key in keys:
        key.write_text("key in " + key.name)
    proxy = weir([http(NAME)], {"redact": {"key": "file:%s" % keys[0], "id": "old"}})
    proxy.config["redact"] = {"key": "file:%s" % keys[1], "id": "new"}
    proxy.reload()
    wait_for(lambda: " reloaded " in proxy.log(), what="the reload")
    proxy.config["policies"] = [proxy.path("password=hunter" "2.yaml")]
    proxy.reload()
    wait_for(lambda: "reload refused" in proxy.log(), what="a word about the policy that is not there")
    assert "password=~redacted.password.new." in proxy.log()
    assert "hunter" not in proxy.log() and ".old." not in proxy.log()


def test_open_tunnels_are_judged_again(weir, echo, connect):
    proxy = weir([tcp(NAME, echo.port), tcp("stays.test", echo.port)])
    gone, stays = open_tunnel(proxy, connect, echo.port), open_tunnel(proxy, connect, echo.port, "stays.test")
    proxy.reload([{"policy": "less", "allow": [tcp("stays.test", echo.port)]}])
    gone.read_all()
    record = proxy.finals(1)[0]
    assert record["target"]["host"] == NAME and record["reason"] == "policy_changed"
    stays.send(b"pong")
    assert stays.read_until(lambda data: data == b"pong")


def test_a_deny_rule_that_names_addresses_holds_inside_open_tunnels(weir, upstream, connect):
    proxy = weir([http(NAME)])
    sock = connect(proxy)
    assert sock.connect(NAME + ":80").status == 200

    def ask(method):
        sock.send("%s / HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n\r\n" % (method, NAME))
        return sock.response(method)
    assert ask("POST").status == 200
    proxy.reload([{"policy": "less", "allow": [http(NAME)],
                   "deny": [{"host": "127.0.0.0/8", "methods": ["POST"]}]}])
    proxy.audit(lambda records: any(r.get("event") == "reload" for r in records), what="the reload")
    wait_for(lambda: ask("GET").status == 200 and proxy.finals()[-1]["generation"] == 2, what="the new policy")
    seen = len(upstream.requests)
    is_refusal(ask("POST"), 403, "host_denied")
    assert len(upstream.requests) == seen


def test_a_reload_drops_no_request(weir, upstream, connect):
    proxy = weir([http(NAME)])
    sock = connect(proxy)
    for i in range(30):
        if i % 5 == 0:
            proxy.signal(signal.SIGHUP)
        answer = sock.get("http://allowed.test/%d" % i)
        assert answer is not None and answer.status == 200
        if answer.get("connection") == "close":
            sock = connect(proxy)


# -- stop

def test_sigterm_waits_for_what_is_open(weir, echo, upstream, connect):
    proxy = weir([tcp(NAME, echo.port), http(NAME, 80)])
    tunnel = open_tunnel(proxy, connect, echo.port)
    idle = connect(proxy)
    assert idle.get("http://allowed.test/").status == 200
    proxy.signal(signal.SIGTERM)
    assert idle.read_all() == b""  # an idle connection is closed

    def is_refusing():
        try:
            sock = proxy.connect(1)
        except OSError:
            return True
        with sock:
            try:
                sock.sendall(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
                return b"weir: draining" in sock.recv(4096)
            except ConnectionError:
                return True
    wait_for(is_refusing, what="no new exchange")
    tunnel.send(b"still")
    assert tunnel.read_until(lambda data: data == b"still")
    assert proxy.process.poll() is None
    tunnel.close()
    assert proxy.process.wait(10) == 0
    assert len([r for r in proxy.finals() if r["kind"] == "connect"]) == 1


def test_a_second_sigterm_stops_at_once_and_records(weir, echo, connect):
    proxy = weir([tcp(NAME, echo.port)])
    tunnel = open_tunnel(proxy, connect, echo.port)
    proxy.signal(signal.SIGTERM)
    wait_for(lambda: "drain" in proxy.log().lower(), what="a word about draining")
    proxy.signal(signal.SIGTERM)
    assert proxy.process.wait(10) == 0
    tunnel.read_all()
    assert len(proxy.finals(1)) == 1


def test_any_number_of_signals_loses_no_record(weir, echo, connect):
    proxy = weir([tcp(NAME, echo.port)])
    socks = [open_tunnel(proxy, connect, echo.port) for _ in range(20)]
    while proxy.process.poll() is None:
        proxy.signal(signal.SIGTERM)
    assert proxy.process.returncode == 0
    assert len(proxy.finals()) == len(socks)


def test_drain_timeout_ends_the_wait(weir, echo, connect):
    proxy = weir([tcp(NAME, echo.port)], {"limits": {"drain_timeout": "300ms"}})
    tunnel = open_tunnel(proxy, connect, echo.port)
    proxy.signal(signal.SIGTERM)
    assert proxy.process.wait(10) == 0
    tunnel.read_all()
    assert len(proxy.finals(1)) == 1


# -- start

def test_sd_notify_says_ready_reloading_and_stopping(weir, net, tmp_path, upstream):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(path)
        sock.settimeout(10)
        proxy = weir([http(NAME)], environment={"NOTIFY_SOCKET": path})
        assert b"READY=1" in sock.recv(4096)
        proxy.signal(signal.SIGHUP)
        said = sock.recv(4096)
        assert b"RELOADING=1" in said or b"READY=1" in said
        proxy.signal(signal.SIGTERM)
        while b"STOPPING=1" not in said:
            said = sock.recv(4096)


def test_a_taken_address_is_named_with_a_remedy(weir, net):
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        proxy = weir([http(NAME)], listen="127.0.0.1:%d" % port, start=False)
        proxy.start(wait=False)
        assert proxy.process.wait(10) not in (0, None)
        assert "127.0.0.1:%d" % port in proxy.log()


def test_every_listener_is_named_at_start(weir, net, tmp_path):
    proxies = ["127.0.0.1:%d" % free_port(), "unix:" + str(tmp_path / "proxy.sock")]
    health = "127.0.0.1:%d" % free_port()
    proxy = weir([http(NAME)], {"listen": {"proxy": proxies, "health": [health]}})
    assert " serving proxy=%s gateway=none health=%s admin=none " % (",".join(proxies), health) in proxy.log()


def test_the_descriptor_limit_is_raised(weir, upstream):
    def low():
        _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    proxy = weir([http(NAME)], preexec=low)
    with open("/proc/%d/limits" % proxy.process.pid) as f:
        soft, hard = next(line.split()[3:5] for line in f if line.startswith("Max open files"))
    assert soft == hard and soft != "200"


def test_rights_are_dropped(weir, upstream, connect, tmp_path):
    os.chmod(tmp_path, 0o755)
    for parent in list(tmp_path.parents)[:3]:
        os.chmod(parent, os.stat(parent).st_mode | 0o055)
    proxy = weir([http(NAME)], {"user": "nobody"})
    assert get(proxy, connect).status == 200
    with open("/proc/%d/status" % proxy.process.pid) as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    assert set(status["Uid"].split()) == {"65534"} and status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0
    assert get(proxy, connect).status == 200
    assert len(proxy.finals(2)) == 2


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "made"])
def test_only_a_state_directory_that_weir_made_becomes_the_users(weir, upstream, tmp_path, is_there):
    os.chmod(tmp_path, 0o755)
    for parent in list(tmp_path.parents)[:3]:
        os.chmod(parent, os.stat(parent).st_mode | 0o055)
    state = tmp_path / "kept"
    if is_there:
        state.mkdir()
    weir([http(NAME)], {"user": "nobody", "state_dir": str(state)})
    assert state.stat().st_uid == (0 if is_there else 65534)


def test_files_that_a_reload_could_not_read_are_warned_of_at_start(weir, upstream, connect, tmp_path):
    os.chmod(tmp_path, 0o755)
    for parent in list(tmp_path.parents)[:3]:
        os.chmod(parent, os.stat(parent).st_mode | 0o055)
    keys = [tmp_path / name for name in ("audit.key", "redact.key")]
    for key in keys:
        key.write_text("a key")
        key.chmod(0o600)
    proxy = weir([http(NAME)], {"user": "nobody", "audit": {"key": "file:%s" % keys[0]}, "redact": {"key": "file:%s" % keys[1]}},
                 start=False)
    for name in ("policy0.yaml", "weir.yaml"):
        os.chmod(proxy.path(name), 0o600)
    proxy.start()
    warned = [line for line in proxy.log().splitlines() if " a reload will be refused: " in line]
    assert len(warned) == 4
    for line, name in zip(warned, ("weir.yaml", "policy0.yaml", "audit.key", "redact.key")):
        assert name + ": Permission denied" in line and "user=nobody" in line
    assert get(proxy, connect).status == 200


MAPS_CODE = "import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)"


def test_it_needs_no_memory_that_is_writable_and_executable(weir, upstream, connect):
    """As under contrib/systemd/weir.service: patterns are then run by PCRE2's interpreter."""
    forbidden = subprocess.run([sys.executable, "-c", MAPS_CODE], stderr=subprocess.PIPE, preexec_fn=seccomp.no_writable_code)
    assert b"PermissionError" in forbidden.stderr
    proxy = weir([http(NAME, paths=["/ok/**"])], preexec=seccomp.no_writable_code)
    secret = "ghp_" + "x1Y2z3" * 6
    assert get(proxy, connect, "http://allowed.test/ok/" + secret).status == 200
    assert get(proxy, connect, "http://allowed.test/other").status == 403
    record = next(r for r in proxy.finals(2) if r["status"] == 200)
    assert record["target"]["path"].startswith("/ok/~redacted.")
    text = "token %s and plain words\n" % secret
    told = subprocess.run([binary(), "redact"], input=text, capture_output=True, text=True, preexec_fn=seccomp.no_writable_code)
    assert told.returncode == 0 and secret not in told.stdout
    assert told.stdout.startswith("token ~redacted.") and told.stdout.endswith("~ and plain words\n")


def test_a_unix_socket_serves_and_a_stale_one_is_replaced(weir, upstream, connect, tmp_path):
    path = str(tmp_path / "proxy.sock")
    for _ in range(2):
        proxy = weir([http(NAME)], listen="unix:" + path)
        assert get(proxy, connect).status == 200
        record = proxy.finals(1)[0]
        assert record["client"]["addr"] == "unix:" + path
        proxy.process.kill()
        proxy.process.wait()


def test_several_workers_serve_one_address(weir, upstream, connect):
    proxy = weir([http(NAME)], {"workers": 4})
    for _ in range(40):
        assert get(proxy, connect).status == 200
    assert len(proxy.finals(40)) == 40


@pytest.mark.parametrize("config", [{"production": True}, {}], ids=["written", "unwritten"])
@pytest.mark.parametrize("command", ["run", "check"])
def test_production_is_refused_without_a_boundary_and_sessions(net, tmp_path, command, config):
    path = tmp_path / "weir.yaml"
    path.write_text(json.dumps(dict({"listen": {"proxy": ["127.0.0.1:3128"]}}, **config)))
    told = subprocess.run([binary(), command, "-c", str(path)], capture_output=True, text=True, timeout=20)
    assert told.returncode == 78
    assert "no_boundary" in told.stdout + told.stderr and "no_sessions" in told.stdout + told.stderr


@pytest.mark.parametrize("command", [["run"], ["check"], ["explain", "a.test:443"]], ids=["run", "check", "explain"])
def test_production_does_not_hide_what_is_wrong_in_the_policies(net, tmp_path, command):
    (tmp_path / "bad.yaml").write_text("policy: p\nalow: []\n")
    (tmp_path / "good.yaml").write_text("policy: p\nallow: [{ host: a.test, private: [127.0.0.0/8] }]\n")

    def told(policy):
        (tmp_path / "weir.yaml").write_text("user: nobody\nlisten: { proxy: ['127.0.0.1:3128'] }\npolicies: [%s.yaml]\n" % policy)
        return subprocess.run([binary(), command[0], "-c", str(tmp_path / "weir.yaml"), *command[1:]],
                              capture_output=True, text=True, timeout=20)
    open_to_all = ["no_boundary", "no_sessions"]
    for policy, codes in (("bad", [*open_to_all, "unknown_key"]), ("good", [*open_to_all, "private_loopback"])):
        done = told(policy)
        assert done.returncode == 78
        assert re.findall(r"error: .* \[(\w+)\]", done.stderr) == codes


BAD_CONFIG = [
    ("an unknown key", {"listne": {}}, "listen"), ("a missing unit", {"limits": {"idle": 300}}, "idle"),
    ("out of range", {"workers": 100000}, "workers"), ("a wrong type", {"listen": 5}, "listen"),
    ("a weak password", {"policies": ["p"], "sessions": {"static": [{"user": "a", "password": "env:HOME", "claims": {"sid": "s"}}]}}, "password"),
]


@pytest.mark.parametrize("config,word", [b[1:] for b in BAD_CONFIG], ids=[b[0] for b in BAD_CONFIG])
def test_a_bad_configuration_is_78_with_its_place(net, tmp_path, config, word):
    path = tmp_path / "weir.yaml"
    path.write_text(json.dumps(dict({"production": False}, **config)))
    told = subprocess.run([binary(), "run", "-c", str(path)], capture_output=True, text=True, timeout=20)
    assert told.returncode == 78
    assert "weir.yaml:1:" in told.stderr and word in told.stderr and "^" in told.stderr


def test_a_missing_configuration_is_66(net, tmp_path):
    told = subprocess.run([binary(), "run", "-c", str(tmp_path / "none.yaml")], capture_output=True, text=True, timeout=20)
    assert told.returncode == 66 and "none.yaml" in told.stderr


# -- health

@pytest.fixture
def watched(weir, upstream):
    return weir([http(NAME)], {"listen": proxy_and_health()})


def test_health_has_three_pages_and_nothing_else(watched):
    assert watched.health("/healthz")[0] == 200
    assert watched.health("/readyz")[0] == 200
    assert watched.health("/metrics")[0] == 200
    assert watched.health("/")[0] == 404
    assert watched.health("/status")[0] == 404
    assert watched.health("/healthz", "POST")[0] in (404, 405)
    assert not watched.finals(), "a look at the health is no exchange"


def test_only_metrics_say_that_they_are_prometheus_text(watched):
    def kind(path):
        visit = HTTPConnection(watched.config["listen"]["health"][0], timeout=10)
        visit.request("GET", path)
        return visit.getresponse().getheader("Content-Type")
    assert kind("/metrics") == "text/plain; version=0.0.4; charset=utf-8"
    assert {kind(path) for path in ("/healthz", "/readyz", "/")} == {"text/plain; charset=utf-8"}


def test_metrics_are_prometheus_text_and_count(watched, connect):
    text = watched.health("/metrics")[1]
    for line in text.splitlines():
        assert line.startswith("#") or line.startswith("weir_"), line
    before = text
    assert get(watched, connect).status == 200
    watched.finals(1)
    assert watched.health("/metrics")[1] != before


def test_health_cannot_be_reached_through_weir(watched, connect):
    port = int(watched.config["listen"]["health"][0].rpartition(":")[2])
    watched.reload([{"policy": "p", "allow": [http(NAME, [80, port])]}])
    wait_for(lambda: get(watched, connect, "http://allowed.test:%d/healthz" % port).get("x-weir-reason")
             == "address_denied", what="a refusal of the own listener")


def test_draining_is_not_ready(weir, echo, connect):
    proxy = weir([tcp(NAME, echo.port)], {"listen": proxy_and_health()})
    tunnel = open_tunnel(proxy, connect, echo.port)
    proxy.signal(signal.SIGTERM)
    wait_for(lambda: proxy.health("/readyz")[0] == 503, what="not ready")
    assert proxy.health("/healthz")[0] == 200
    tunnel.close()


# -- a laptop

@pytest.fixture
def laptop(net, dns, tmp_path):
    """weir run without -c, as nobody, with the test's resolver in /etc/resolv.conf."""
    resolv = tmp_path / "resolv.conf"
    resolv.write_text("nameserver 127.0.0.1\n")
    subprocess.run(["mount", "--bind", str(resolv), "/etc/resolv.conf"], check=True)
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, 65534, 65534)
    for parent in [tmp_path] + list(tmp_path.parents)[:3]:
        os.chmod(parent, os.stat(parent).st_mode | 0o055)
    made = []

    def nobody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    own = shutil.copy(binary(), tmp_path / "weir")  # where nobody may read it

    def run(*arguments, environment=None, audit=state / "weir" / "audit.jsonl"):
        log = open(tmp_path / "log", "wb")
        process = subprocess.Popen([own, "run", *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env=dict(environment or {"XDG_STATE_HOME": str(state)}, PATH="/usr/bin:/bin"), preexec_fn=nobody)
        made.append(process)
        proxy = Weir.__new__(Weir)
        proxy.address, proxy.process, proxy.log_path = "127.0.0.1:3128", process, str(tmp_path / "log")
        proxy.config, proxy._seen, proxy._records = {"audit": {"path": str(audit)}}, 0, []
        # it listens before all is there that it needs, so a connection says nothing yet
        wait_for(lambda: proxy.is_ready() and " serving " in proxy.log(), what="the laptop's weir")
        return proxy
    yield run
    for process in made:
        process.kill()
        process.wait()
    subprocess.run(["umount", "-l", "/etc/resolv.conf"], check=True)


def test_the_laptop_default_allows_what_it_is_told(laptop, net, dns, origin, connect):
    upstream = origin()
    upstream.listen(80, "::", net.outside)
    dns.set({NAME: {"A": [netns.PUB1]}})
    proxy = laptop("--allow", NAME)
    assert get(proxy, connect).status == 200
    refused = get(proxy, connect, "http://other.test/")
    assert refused.status == 403
    with socket.create_connection(("::1", 3128), 5):
        pass
    assert "production" in proxy.log() or "laptop" in proxy.log()
    wait_for(lambda: "other.test" in proxy.log() and "host:" in proxy.log(), what="a rule to paste in the log")
    records = proxy.finals(2)
    assert sorted(r["status"] for r in records) == [200, 403]  # of two connections, in either order
    state = os.path.dirname(proxy.config["audit"]["path"])
    assert os.stat(state).st_mode & 0o777 == 0o700


def test_a_home_without_a_state_directory_gets_one(laptop, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    laptop(environment={"HOME": str(home)}, audit=home / ".local/state/weir/audit.jsonl")
    made = [home / name for name in (".local", ".local/state", ".local/state/weir")]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3


def test_a_home_that_cannot_be_written_is_told_with_a_remedy(laptop, tmp_path):
    with pytest.raises(AssertionError, match="remedy=.set XDG_STATE_HOME to a directory that this user may write"):
        laptop(environment={"HOME": str(tmp_path)})


@pytest.mark.parametrize("value,words", [
    ("x y", "a host name has letters"), ("", "the host is empty"), ("http://allowed.test/", "write the host alone"),
    ("allowed.test:443", "write the host alone"), ("*.test", "too broad, its base has one label"), ("a.*.test", "a star is a whole first label"),
    ("b\u00fccher.test", "xn--bcher-kva.test"), ("10.0.0.1/8", "ADDRESS/LENGTH"),
])
def test_what_is_no_host_is_not_allowed_by_name(net, value, words):
    told = subprocess.run([binary(), "run", "--allow", "fine.test", "--allow", value], capture_output=True, text=True, timeout=20)
    assert told.returncode == 64
    assert '--allow takes a host, and not "%s": ' % value in told.stderr and words in told.stderr
    assert "quickstart" not in told.stderr


@pytest.mark.parametrize("host", ["www.example.com", "**.example.com"])
def test_more_of_the_example_may_be_allowed(laptop, host):
    assert laptop("--allow", host).process.poll() is None


def test_the_laptop_default_allows_tls_too_and_tells_developers_more(laptop, net, dns, origin, connect):
    upstream = origin(serve=origins.silent_serve)
    upstream.listen(443, "::", net.outside)
    dns.set({NAME: {"A": [netns.PUB1]}})
    proxy = laptop("--allow", NAME)
    sock = connect(proxy)
    assert sock.connect(NAME + ":443").status == 200
    data = hello.hello(NAME)
    sock.send(data)
    assert upstream.wait(lambda: upstream.bytes() == data)
    refused = json.loads(connect(proxy).connect("other.test:443").body)["error"]
    assert "fix" in refused or "trace" in refused or "layer" in refused


def test_expectations_of_a_policy_run_at_start(weir):
    policy = {"policy": "p", "allow": [https(NAME)], "expect": [{"allow": "GET https://other.test/"}]}
    proxy = weir(policy, start=False)
    proxy.start(wait=False)
    assert proxy.process.wait(10) == 78
    assert "expect_failed" in proxy.log() and "host_not_allowed" in proxy.log()
