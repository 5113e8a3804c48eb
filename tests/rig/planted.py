"""Secrets of every kind that notes and vendors know, how they may be written, and a search for all of that.

Nothing here looks like somebody's key: each is made anew, from a prefix and random characters.
A search is for pieces of a secret, in either case, so that a tail that was left is found as well; in a text as it
is, and in what its escapes say (percent, JSON, HTML, twice; UTF-16).
"""
import base64
import html
import os
import re
import secrets
import string
import subprocess
import tempfile
import urllib.parse

ALPHABETS = {"b62": string.ascii_letters + string.digits, "u64": string.ascii_letters + string.digits + "-_",
             "s64": string.ascii_letters + string.digits + "+/", "hex": "0123456789abcdef",
             "up": string.ascii_uppercase + string.digits, "b32": string.ascii_uppercase + "234567", "low": string.ascii_lowercase + string.digits, "dig": string.digits,
             "let": string.ascii_letters}
SHAPES = """ghp_<b62*36> gho_<b62*36> ghs_<b62*36> github_pat_<b62*22>_<b62*59> glpat-<u64*20> glptt-<hex*40> ATBB<b62*32>
sk-proj-<u64*58>T3BlbkFJ<u64*58> sk-<b62*20>T3BlbkFJ<b62*20> sk-ant-api03-<u64*93>AA AIza<u64*35> ya29.<u64*60> GOCSPX-<u64*28>
hf_<let*34> gsk_<b62*52> xai-<b62*80> pplx-<b62*48> sk-or-v1-<hex*64> r8_<b62*37> tvly-<b62*32> nvapi-<u64*64> fc-<hex*32>
lsv2_pt_<hex*32>_<hex*10> sk_<hex*48> AKIA<b32*16> ASIA<b32*16> <b62*3>8Q~<u64*34> dop_v1_<hex*64> dapi<hex*32> hvs.<u64*95>
dp.pt.<b62*43> pul-<hex*40> tskey-auth-<b62*13>-<b62*32> sbp_<low*40> pscale_tkn_<u64*43> xoxb-<dig*12>-<dig*13>-<b62*24>
<dig*10>:AA<u64*33> sk_live_<b62*24> rk_live_<b62*24> whsec_<b62*32> sq0csp-<u64*43> shpat_<hex*32> SK<hex*32>
SG.<u64*22>.<u64*43> key-<hex*32> xkeysib-<hex*64>-<b62*16> ntn_<dig*11><b62*35> lin_api_<b62*40> figd_<u64*40>
PMAK-<hex*24>-<hex*34> NRAK-<up*27> glsa_<b62*32>_<hex*8> dt0c01.<up*24>.<up*64> squ_<hex*40>
dckr_pat_<u64*27> npm_<b62*36> pypi-AgEI<u64*85> rubygems_<hex*48> AGE-SECRET-KEY-1<up*58> sha256~<u64*43>
pat-na1-<hex*8>-<hex*4>-<hex*4>-<hex*4>-<hex*12> rzp_live_<b62*14> eyJ<u64*33>.eyJ<u64*60>.<u64*43>
sntryu_<hex*64> ABSK<s64*110> ops_eyJ<s64*200> fm2_<s64*120> glc_eyJ<s64*100>""".split()
PREFIXES = {shape.split("<")[0] for shape in SHAPES} | {""}  # which are no secret
NOISE = string.ascii_letters + string.digits + "~/+=&\"<'%.-_"
HEX_PIECE, PIECE = 16, 12  # characters in a row that no digest in a record has by chance


def noise(alphabet=NOISE):
    """Nothing that has a form, a prefix, or a place in any file."""
    return "".join(secrets.choice(alphabet) for _ in range(24 + secrets.randbelow(12)))


def shaped(n):
    """n secrets that say what they are; each kind once before one comes twice."""
    def fill(m):
        return "".join(secrets.choice(ALPHABETS[m.group(1)]) for _ in range(int(m.group(2))))
    return [re.sub(r"<(\w+)\*(\d+)>", fill, SHAPES[i % len(SHAPES)]) for i in range(n)]


def shifts(secret):
    """Its base64 at each alignment, without the characters that depend on its neighbours."""
    for skip in range(3):
        text = base64.b64encode(b"\0" * skip + secret.encode()).decode()
        first, whole = (skip * 8 + 5) // 6, (skip + len(secret)) * 8 // 6
        yield text[first:whole]
        yield text[first:whole].replace("+", "-").replace("/", "_")


def guises(secret):
    """As somebody may send or echo it, in what may stand in a path."""
    data = secret.encode()
    return [urllib.parse.quote(secret, safe=""), "".join("%%%02x" % b for b in data), data.hex(), data.hex().upper(),
            base64.urlsafe_b64encode(data).decode(), base64.urlsafe_b64encode(b"u:" + data).decode(),
            base64.urlsafe_b64encode(b"x" + data).decode(), urllib.parse.quote(urllib.parse.quote(secret, safe=""), safe="")]


def said(text):
    """The text, and what its escapes say."""
    yield text
    yield urllib.parse.unquote(text)
    yield html.unescape(text)
    yield re.sub(r"\\u00([0-9a-fA-F]{2})", lambda m: chr(int(m.group(1), 16)), text).replace('\\"', '"').replace("\\/", "/")


def views(text):
    return {u.replace("\0", "") for t in said(text) for u in said(t)}


class Search:
    """For all these secrets at once."""

    def __init__(self, planted, piece=PIECE):
        self.of, self.piece = {}, piece  # piece -> secret
        for secret in planted:
            core = secret[max(len(p) for p in PREFIXES if secret.startswith(p)):]
            for text in {core, core[::-1], core.encode().hex(), *shifts(core)}:
                self.of.update(dict.fromkeys(self.pieces(text.lower()), secret))
        with tempfile.NamedTemporaryFile("w", delete=False, encoding="ascii") as f:
            f.write("\n".join(self.of) + "\n")
        self.patterns = f.name

    def close(self):
        os.unlink(self.patterns)

    def pieces(self, text):
        n = max(HEX_PIECE, self.piece) if re.fullmatch("[0-9a-f-]*", text) else self.piece
        starts = range(0, max(1, len(text) - n + 1), n // 2)
        return {text[i:i + n] for i in [*starts, max(0, len(text) - n)]}

    @staticmethod
    def _grep(arguments, **how):
        done = subprocess.run(["grep", "-aio", *arguments], env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
                              capture_output=True, check=False, **how)
        assert done.returncode in (0, 1) and not done.stderr, done.stderr
        return {line.decode("latin-1").lower() for line in done.stdout.splitlines()}

    def text(self, text):
        """Pieces of secrets in it."""
        data = "\n".join(views(text)).encode("utf-8", "surrogateescape")
        return self._grep(["-Ff", self.patterns], input=data)

    def file(self, path):
        """The same of a file of any size: only lines that have escapes are read as what they say."""
        found = self._grep(["-Ff", self.patterns, path])
        with subprocess.Popen(["grep", "-aE", r"%[0-9a-fA-F]{2}|\\u00|\\[\"/]|&#", path], stdout=subprocess.PIPE) as lines:
            while batch := lines.stdout.readlines(1 << 22):
                found |= self.text(b"".join(batch).decode("utf-8", "surrogateescape"))
        return found

    def told(self, path, most=20):
        """What a person wants to know of it; empty: nothing was found."""
        return ["%s: %s of %s, in %s" % (os.path.basename(path), piece, self.of[piece], self.around(piece, path))
                for piece in sorted(self.file(path))[:most]]

    def around(self, piece, path):
        """What stands around it; nothing where it had to be decoded first."""
        return sorted(self._grep(["-m1", "-E", ".{0,100}%s.{0,60}" % re.escape(piece), path]))
