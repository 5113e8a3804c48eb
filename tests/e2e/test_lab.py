"""make lab: what a visitor tries in it, as root of a sandbox, does not find the flag; without the wall it does."""
import os
import pathlib
import subprocess
import tempfile

import pytest

from rig.weir import binary

pytestmark = pytest.mark.plain

LAB = pathlib.Path(__file__).resolve().parents[2] / "contrib/lab"
FLAG, SITE = "93.184.216.34", "93.184.215.14"
RAW = "exec 3<>/dev/tcp/%s/%d; timeout 2 head -c 40 <&3"
DATAGRAM = "python3 -c \"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b'x', ('%s', %d)); print(s.recv(99))\""
AROUND = [  # past every proxy variable
    "curl http://%s/" % FLAG, "curl -k https://%s/" % FLAG, "curl -H 'Host: flag.example.com' http://%s/" % SITE,
    "curl -k --connect-to ::%s: https://flag.example.com/" % FLAG,
    *[RAW % (FLAG, port) for port in (22, 53, 8080)], *[DATAGRAM % (FLAG, port) for port in (53, 123, 443)]]
CHANGED = [  # and with another network than he was given
    "ip addr add 192.0.2.77/32 dev s1; curl --interface 192.0.2.77 http://%s/; curl http://%s/" % (FLAG, FLAG),
    "nft flush ruleset; ip route replace %s/32 via 10.99.0.1; curl http://%s/" % (FLAG, FLAG)]
THROUGH = [  # with them, or by weir's other doors
    "curl http://flag.example.com/", "curl https://flag.example.com/", "curl -p telnet://%s:22 </dev/null" % FLAG, "curl https://site.example.com/flag",
    "curl https://site.example.com/ -H 'Host: flag.example.com'", "curl --path-as-is https://site.example.com/open/../flag",
    "curl https://site.example.com/open/%2e%2e/flag", "curl https://site.example.com/open%2f..%2fflag", "curl -X POST https://site.example.com/",
    "curl -H 'X-Original-URL: /flag' -H 'X-HTTP-Method-Override: POST' https://site.example.com/", "curl https://site.example.com:8080/",
    "curl -k --connect-to site.example.com:443:%s:443 https://site.example.com/" % FLAG, "curl http://flag.example.com.:80/", "curl http://0x5db8d822/",
    "curl -x socks5h://10.99.0.1:1080 http://flag.example.com/", "curl -x socks5://10.99.0.1:1080 http://%s/" % FLAG,
    "curl --noproxy '*' http://flag.example.com/", "curl -k --noproxy '*' --connect-to ::%s: https://site.example.com/flag" % FLAG,
    "curl --noproxy '*' --connect-to ::%s: https://site.example.com/ -H 'Host: flag.example.com'" % FLAG]
AROUND, CHANGED = ([one.replace("curl ", "curl --noproxy '*' ") for one in some] for some in (AROUND, CHANGED))
OUT = [  # of the sandbox itself
    "cat /tmp/weir-lab.*/outside/flag", "nsenter --net=/proc/1/ns/net curl --noproxy '*' http://%s/" % FLAG, "nsenter -t 1 -a cat /tmp/weir-lab.*/outside/flag",
    "mkdir /tmp/m && mount -t proc none /tmp/m; cat /proc/*/root/tmp/weir-lab.*/outside/flag", "ip netns add x; ip netns exec x curl http://%s/" % FLAG,
    "echo 1 >/proc/sys/net/ipv4/conf/all/forwarding; curl --noproxy '*' http://192.0.2.2/"]


def in_turn(tries):
    """All at once, but for what changes the network; what each of them printed, in its order."""
    lines = ["cd $(mktemp -d)"]
    for i, one in enumerate(tries):
        lines.append("( %s ) >%d 2>&1 %s" % (one.replace("curl ", "curl -sS -m 3 "), i, "" if one in CHANGED else "&"))
    return "\n".join([*lines, "wait", *["cat %d; echo; echo ====" % i for i in range(len(tries))], "cd /; rm -r $OLDPWD"])


def lab(*words, tries):
    done = subprocess.run([LAB, *words, "bash", "-c", in_turn(tries)], capture_output=True, text=True, check=False, timeout=120,
                          env=dict(os.environ, WEIR=binary()))
    assert done.returncode == 0, done.stderr
    return dict(zip(tries, done.stdout.split("====\n")))


def test_no_escape_finds_the_flag_and_the_site_is_reached():
    tries = ["curl https://site.example.com/open/x", "curl --noproxy '*' https://site.example.com/open/y", *THROUGH, *OUT, *AROUND, *CHANGED]
    said = lab(tries=tries)
    assert len(said) == len(tries) and all("this is the site" in said[one] for one in tries[:2])
    assert [one for one in tries if "flag{" in said[one]] == []


def test_without_the_wall_each_way_around_finds_it():
    """Else the tries would be none."""
    said = lab("--open", tries=AROUND + CHANGED)
    assert [one for one in said if "flag{" not in said[one]] == []


def test_its_end_is_the_end_of_all_of_it():
    with tempfile.TemporaryDirectory(prefix="weir-test-") as directory:
        os.chmod(directory, 0o755)
        made = subprocess.run([LAB], env=dict(os.environ, WEIR=binary(), LAB="curl -s https://site.example.com/; exit 7", TMPDIR=directory),
                              capture_output=True, text=True, timeout=60, check=False)
        assert (made.returncode, made.stdout) == (7, "this is the site\n"), made.stderr
        assert os.listdir(directory) == []
        assert not [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if names(p, directory)]


def names(path, directory):
    try:
        return directory.encode() in path.read_bytes()
    except OSError:  # it ended
        return False


@pytest.mark.parametrize("words,status", [(["--help"], 0), (["--nothing"], 64)])
def test_it_says_what_it_is(words, status):
    done = subprocess.run([LAB, *words], capture_output=True, text=True, check=False)
    assert done.returncode == status and "lab" in done.stdout + done.stderr


def test_the_verify_of_its_help_holds_in_it():
    told = subprocess.run([LAB, "--help"], capture_output=True, text=True, check=True).stdout
    command = " ".join(told[told.index("setpriv "):told.index("\n\n(with the proxy")].replace("\\\n", " ").split())
    assert "--transparent" in command and "--dns" in command
    done = subprocess.run([LAB, "bash", "-c", command], capture_output=True, text=True, check=False, timeout=120,
                          env=dict(os.environ, WEIR=binary()))
    assert done.returncode == 0 and " 0 leak, 0 fail, 0 unsure" in done.stdout, done.stdout + done.stderr
