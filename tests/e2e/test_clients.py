"""Real clients through weir: curl, wget, git, apt, Python's libraries, against origins of our own."""
import base64
import hashlib
import os
import pathlib
import re
import socket
import subprocess
import threading
import urllib.parse

import pytest

from clients import proxied, through
from rig import gateway as rig_gateway, http1, origin as origins, tls
from rig import token as tokens
from rig.weir import free_port, wait_for
from rules import http, https

pytestmark = pytest.mark.plain

NAME = "origin.test"


@pytest.fixture
def secure(origin, authority):
    one = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    one.listen(443)
    return one


@pytest.fixture
def proxy(weir):
    return weir([http(NAME), https(NAME)])


def run(*command, **how):
    return subprocess.run(command, capture_output=True, timeout=300, **how)


def curl(proxy, authority, *arguments):
    return run("curl", "-sS", "-m", "280", "-x", "http://" + proxy.address, "--cacert", authority.certificate, *arguments)


def environment(proxy, authority):
    """What makes clients use weir, as an agent's sandbox would set it."""
    url = "http://" + proxy.address
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "http_proxy": url, "https_proxy": url, "HTTP_PROXY": url,
            "HTTPS_PROXY": url, "GIT_SSL_CAINFO": authority.certificate, "SSL_CERT_FILE": authority.certificate}


# -- curl

def test_curl_http_and_https(proxy, authority, upstream, secure):
    assert curl(proxy, authority, "http://origin.test/x").stdout == b"ok"
    assert curl(proxy, authority, "https://origin.test/y").stdout == b"ok"
    assert [r.target for r in upstream.requests + secure.requests] == ["/x", "/y"]


def test_curl_says_why_it_was_refused(proxy, authority):
    told = curl(proxy, authority, "-v", "https://other.test/")
    assert told.returncode != 0
    assert b"weir: host_not_allowed" in told.stderr
    told = curl(proxy, authority, "http://other.test/")
    assert b"host_not_allowed" in told.stdout


def test_curl_many_urls_over_one_connection(proxy, authority, upstream):
    urls = ["http://origin.test/%d" % i for i in range(20)]
    told = curl(proxy, authority, "-w", "%{num_connects} ", *urls)
    assert told.stdout.count(b"ok") == 20 and len(upstream.conns) == 1


def test_curl_http_2_inside_a_tunnel(weir, origin, authority, tmp_path, upstream):
    port, backend = free_port(), upstream.listen()
    certificate, key = authority.leaf(NAME)
    server = subprocess.Popen(["nghttpx", "--frontend=127.0.0.1,%d" % port, "--backend=127.0.0.1,%d" % backend, "--workers=1",
                               "--conf=/dev/null", "--errorlog-file=" + str(tmp_path / "nghttpx.log"), key, certificate],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: _listens(port), what="nghttpx")
        proxy = weir([https(NAME, port)])
        told = curl(proxy, authority, "--http2", "-w", " %{http_version}", "https://origin.test:%d/" % port)
        assert told.stdout == b"ok 2", told.stderr
    finally:
        server.terminate()
        server.wait(10)


def _listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def websocket_echo(conn):
    conn.recv()
    request = http1.read_request(conn.data)[0]
    mark = hashlib.sha1((request.get("sec-websocket-key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    conn.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
              + base64.b64encode(mark) + b"\r\n\r\n\x81\x05hello")
    origins.silent_serve(conn)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_curl_websocket(weir, origin, authority, scheme):
    serve = websocket_echo if scheme == "http" else tls.tls_serve(authority.context(NAME), websocket_echo)
    port = origin(serve=serve).listen()
    proxy = weir([http(NAME, port, upgrade=["websocket"]) if scheme == "http" else https(NAME, port)])
    told = run("curl", "-sS", "-N", "--http1.1", "-m", "2", "-x", "http://" + proxy.address, "--cacert", authority.certificate,
               "-H", "Connection: Upgrade", "-H", "Upgrade: websocket", "-H", "Sec-WebSocket-Version: 13",
               "-H", "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==", "-i", "%s://origin.test:%d/" % (scheme, port))
    assert b" 101 " in told.stdout.split(b"\r\n")[0] or b" 101 " in told.stdout
    assert told.stdout.endswith(b"\x81\x05hello")


def count_body(totals):
    """An origin that swallows a body of any size and answers with its length."""
    def serve(conn):
        while b"\r\n\r\n" not in conn.data:
            if not conn.recv():
                return
        head, _, body = conn.data.partition(b"\r\n\r\n")
        if b"100-continue" in head:
            conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        size, got = int(re.search(rb"(?i)content-length: (\d+)", head).group(1)), len(body)
        while got < size:
            piece = conn.sock.recv(1 << 20)  # past conn.recv(): a gigabyte need not be kept
            if not piece:
                break
            got += len(piece)
        totals.append(got)
        text = b"%d" % got
        conn.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        conn.close()
    return serve


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_curl_uploads_a_gibibyte(weir, origin, authority, tmp_path, scheme):
    size = 1 << 30
    totals, big = [], tmp_path / "big"
    with open(big, "wb") as f:
        f.truncate(size)
    serve = count_body(totals)
    port = origin(serve=serve if scheme == "http" else tls.tls_serve(authority.context(NAME), serve)).listen()
    proxy = weir([http(NAME, port) if scheme == "http" else https(NAME, port)])
    before = proxy.rss_kib()
    told = curl(proxy, authority, "-T", str(big), "%s://origin.test:%d/big" % (scheme, port))
    assert told.stdout == b"%d" % size, told.stderr
    assert totals == [size]
    assert not proxy.grew(before, 16 << 10)
    assert proxy.finals(1)[0]["bytes"]["up"] >= size


def file_server(directory):
    """HTTP/1.1 with ranges, for a directory."""
    def reply(request):
        path = os.path.join(directory, urllib.parse.unquote(request.target.split("?")[0]).lstrip("/"))
        if not os.path.isfile(path):
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        with open(path, "rb") as f:
            data = f.read()
        asked = re.match(r"bytes=(\d+)-", request.get("range", ""))
        if asked:
            start = int(asked.group(1))
            head = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %d-%d/%d\r\n" % (start, len(data) - 1, len(data))
            data = data[start:]
        else:
            head = b"HTTP/1.1 200 OK\r\n"
        if request.method == "HEAD":
            return head + b"Content-Length: %d\r\nAccept-Ranges: bytes\r\n\r\n" % len(data)
        return head + b"Content-Length: %d\r\nAccept-Ranges: bytes\r\n\r\n" % len(data) + data
    return reply


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_curl_resumes(proxy, authority, upstream, secure, tmp_path, scheme):
    content = os.urandom(300000)
    (tmp_path / "file").write_bytes(content)
    upstream.reply = secure.reply = file_server(str(tmp_path))
    part = tmp_path / "part"
    part.write_bytes(content[:100000])
    told = curl(proxy, authority, "-C", "-", "-o", str(part), scheme + "://origin.test/file")
    assert told.returncode == 0, told.stderr
    assert part.read_bytes() == content


def test_curl_downloads_what_it_posts_with_expect(proxy, authority, upstream, tmp_path):
    upstream.reply = lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(request.body) + request.body
    body = os.urandom(2 << 20)
    (tmp_path / "body").write_bytes(body)
    told = curl(proxy, authority, "-H", "Expect: 100-continue", "--data-binary", "@%s" % (tmp_path / "body"),
                "http://origin.test/")
    assert told.stdout == body


# -- wget

@pytest.mark.parametrize("scheme", ["http", "https"])
def test_wget(proxy, authority, upstream, secure, tmp_path, scheme):
    content = os.urandom(50000)
    (tmp_path / "file").write_bytes(content)
    upstream.reply = secure.reply = file_server(str(tmp_path))
    told = run("wget", "-q", "--tries=1", "--ca-certificate=" + authority.certificate, "-O", "-", scheme + "://origin.test/file",
               env=environment(proxy, authority))
    assert told.stdout == content, told.stderr


def test_wget_is_told_why(proxy, authority):
    told = run("wget", "--tries=1", "-O", "-", "http://other.test/", env=environment(proxy, authority))
    assert told.returncode != 0 and b"weir: host_not_allowed" in told.stderr


# -- git

def backend(root):
    """git http-backend behind http_serve: a CGI in a few lines."""
    def reply(request):
        path, _, query = request.target.partition("?")
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
               "QUERY_STRING": query, "REQUEST_METHOD": request.method, "CONTENT_TYPE": request.get("content-type", ""),
               "REMOTE_USER": "agent", "REMOTE_ADDR": "127.0.0.1", "GIT_PROTOCOL": request.get("git-protocol", "")}
        if request.get("content-encoding"):
            env["HTTP_CONTENT_ENCODING"] = request.get("content-encoding")
        told = subprocess.run(["git", "http-backend"], input=request.body, capture_output=True, env=env)
        head, _, body = told.stdout.partition(b"\r\n\r\n")
        status = re.search(rb"(?im)^Status: (\d+ .*?)\r?$", head)
        return b"HTTP/1.1 %s\r\n%s\r\nContent-Length: %d\r\n\r\n" % (
            status.group(1) if status else b"200 OK", re.sub(rb"(?im)^Status:.*\r\n?", b"", head), len(body)) + body
    return reply


def git(directory, env, *arguments):
    told = run("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(directory), *arguments, env=env)
    assert told.returncode == 0, told.stderr
    return told.stdout.decode()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_git_clones_and_pushes(proxy, authority, upstream, secure, tmp_path, scheme):
    env = dict(environment(proxy, authority), HOME=str(tmp_path), GIT_TERMINAL_PROMPT="0")
    (tmp_path / "srv").mkdir()
    git(tmp_path, env, "init", "-q", "--bare", "-b", "main", "srv/project.git")
    git(tmp_path / "srv" / "project.git", env, "config", "http.receivepack", "true")
    upstream.reply = secure.reply = backend(tmp_path / "srv")
    git(tmp_path, env, "clone", "-q", scheme + "://origin.test/project.git", "work")
    work = tmp_path / "work"
    (work / "big").write_bytes(os.urandom(3 << 20))  # over http.postBuffer: a chunked push
    git(work, env, "add", ".")
    git(work, env, "commit", "-q", "-m", "one")
    git(work, env, "push", "-q", "origin", "HEAD:main")
    git(tmp_path, env, "clone", "-q", "-b", "main", scheme + "://origin.test/project.git", "again")
    assert (tmp_path / "again" / "big").read_bytes() == (work / "big").read_bytes()


def test_git_prints_the_refusal(proxy, authority, tmp_path):
    env = dict(environment(proxy, authority), HOME=str(tmp_path), GIT_TERMINAL_PROMPT="0")
    told = run("git", "ls-remote", "https://other.test/x.git", env=env)
    assert told.returncode != 0 and b"403" in told.stderr


# -- apt

@pytest.fixture
def archive(tmp_path):
    """A repository with one package in it."""
    root, package = tmp_path / "archive", tmp_path / "package"
    (package / "DEBIAN").mkdir(parents=True)
    (package / "DEBIAN" / "control").write_text("Package: weir-test-package\nVersion: 1.0\nArchitecture: all\n"
                                                "Maintainer: a <a@b>\nDescription: nothing\n")
    root.mkdir()
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", str(package), str(root / "weir-test-package_1.0_all.deb")],
                   check=True, capture_output=True)
    packages = subprocess.run(["dpkg-scanpackages", "."], cwd=root, check=True, capture_output=True).stdout \
        if _has("dpkg-scanpackages") else subprocess.run(["apt-ftparchive", "packages", "."], cwd=root, check=True,
                                                         capture_output=True).stdout
    (root / "Packages").write_bytes(packages)
    return root


def _has(program):
    return any(os.access(os.path.join(d, program), os.X_OK) for d in os.environ["PATH"].split(":"))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_apt_updates_and_downloads(proxy, authority, upstream, secure, archive, tmp_path, scheme):
    upstream.reply = secure.reply = file_server(str(archive))
    root = tmp_path / "apt"
    for name in ("etc/apt/preferences.d", "etc/apt/sources.list.d", "var/lib/dpkg", "var/lib/apt/lists/partial",
                 "var/cache/apt/archives/partial", "etc/apt/apt.conf.d", "etc/apt/trusted.gpg.d"):
        (root / name).mkdir(parents=True)
    (root / "var/lib/dpkg/status").write_text("")
    (root / "etc/apt/sources.list").write_text("deb [trusted=yes] %s://origin.test/ ./\n" % scheme)
    url = "http://" + proxy.address
    options = ["-o", "Dir=" + str(root), "-o", "Dir::State::status=" + str(root / "var/lib/dpkg/status"),
               "-o", "Acquire::http::Proxy=" + url, "-o", "Acquire::https::Proxy=" + url, "-o", "APT::Sandbox::User=root",
               "-o", "Acquire::https::CAInfo=" + authority.certificate, "-o", "Acquire::Retries=0", "-o", "Debug::NoLocking=1"]
    told = run("apt-get", *options, "update", cwd=root)
    assert told.returncode == 0, told.stderr
    told = run("apt-get", *options, "download", "weir-test-package", cwd=root)
    assert told.returncode == 0, told.stderr
    assert pathlib.Path(root / "weir-test-package_1.0_all.deb").read_bytes() == \
        (archive / "weir-test-package_1.0_all.deb").read_bytes()


# -- python's own

def test_urllib_uses_the_proxy_variables_and_shows_the_reason(proxy, authority, upstream, secure):
    script = ("import urllib.request,urllib.error\n"
              "print(urllib.request.urlopen('http://origin.test/').read())\n"
              "print(urllib.request.urlopen('https://origin.test/').read())\n"
              "try: urllib.request.urlopen('https://other.test/')\n"
              "except Exception as e: print(e)\n")
    told = run("/usr/bin/python3", "-c", script, env=environment(proxy, authority))
    assert told.stdout.count(b"b'ok'") == 2, told.stderr
    assert b"weir: host_not_allowed" in told.stdout


def test_several_clients_at_once(proxy, authority, upstream, secure):
    results = []

    def one(i):
        scheme = "http" if i % 2 else "https"
        results.append(curl(proxy, authority, "%s://origin.test/%d" % (scheme, i)).stdout)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [b"ok"] * 20
    assert len(proxy.finals(20)) == 20


# -- each client that Debian has, as its row in tests/clients/proxied.py says

DEBIANS = pytest.mark.parametrize("program", [p for p in proxied.PROGRAMS if p.needs == "debian"], ids=lambda p: p.name)


@pytest.fixture
def trip(weir, authority, upstream, secure, tmp_path):
    upstream.reply = secure.reply = through.reply
    proxy = weir([http(NAME), https(NAME)], config=through.CONFIG, environment=rig_gateway.ENVIRONMENT)
    made = []

    def make(program, has_token=True):
        token = tokens.mint(rig_gateway.SECRET, program.name) if has_token else None
        made.append(through.Trip(proxy, token, authority.certificate, tmp_path))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
@DEBIANS
def test_a_client_brings_its_token_and_each_exchange_has_one_record(trip, program, scheme):
    one = trip(program)
    assert list(through.allowed(one, program, scheme)) == [], one.output


@pytest.mark.parametrize("what", [proxied.TUNNEL, proxied.CLEAR, proxied.NO_TOKEN])
@DEBIANS
def test_a_client_stops_at_a_refusal_and_shows_what_it_can(trip, program, what):
    one = trip(program, has_token=what != proxied.NO_TOKEN)
    assert list(through.refused(one, program, what)) == [], one.output


# -- doc/CLIENTS.md

def rows_of_the_manual(columns):
    """The rows of its tables with so many columns, as lists of cells."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "doc" / "CLIENTS.md").read_text(encoding="utf-8")
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|"))
    return [row for row in rows if len(row) == columns and not set(row[0]) <= {"-"}][1:]


def test_the_manual_says_of_each_client_what_its_row_says():
    for row, program in zip(rows_of_the_manual(6), proxied.PROGRAMS, strict=True):
        assert row == [program.name, "after a 407" if program.is_asked else "at once", program.shows, "`%s`" % program.words,
                       str(program.tries + program.is_asked), program.shows_clear if program.clear == "http" else program.shows]
    for row, agent in zip(rows_of_the_manual(5), proxied.AGENTS, strict=True):
        assert row == [agent.name, "yes" if agent.ends else "no", str(agent.asks), agent.shows, "`%s`" % agent.words]
