"""Who issues session tokens: a key of its own, HMAC's or one of openssl's, and tokens in any state of wrong."""
import hashlib
import hmac
import json
import subprocess

from . import token as tokens

HASHES = {"256": hashlib.sha256, "384": hashlib.sha384, "512": hashlib.sha512}
CURVES = {"256": "P-256", "384": "P-384", "512": "P-521"}
ALGORITHMS = tuple(family + size for family in ("HS", "RS", "ES") for size in HASHES)


def key_arguments(alg):
    if alg.startswith("RS"):
        return ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
    return ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:" + CURVES[alg[2:]]]


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, check=True, capture_output=True).stdout


def integers_of(der):
    """The two of a DER signature (RFC 3279 2.2.3)."""
    at = 3 if der[1] & 0x80 else 2
    for _ in range(2):
        size = der[at + 1]
        yield int.from_bytes(der[at + 2:at + 2 + size], "big")
        at += 2 + size


class Issuer:
    """`directory` is where its key lies."""

    def __init__(self, alg, directory):
        self.alg, self.secret, self.key = alg, None, None
        if alg.startswith("HS"):
            self.secret = tokens.new_secret() + tokens.new_secret()  # SHA-512 wants as many bits
            return
        self.key, self.public = ("%s/issuer.%s" % (directory, kind) for kind in ("key", "pem"))
        openssl("genpkey", "-out", self.key, *key_arguments(alg))
        openssl("pkey", "-in", self.key, "-pubout", "-out", self.public)

    # -- what a weir is told

    @property
    def environment(self):
        return {"KEY": self.secret} if self.secret else {}

    def row(self):
        key = {"secret": "env:KEY"} if self.secret else {"pem": "file:" + self.public}
        return dict({"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "alg": self.alg}, **key)

    # -- what it signs

    def signature(self, text):
        size = self.alg[2:]
        if self.secret:
            return hmac.new(self.secret.encode(), text, HASHES[size]).digest()
        signed = openssl("dgst", "-sha" + size, "-sign", self.key, data=text)
        if self.alg.startswith("RS"):
            return signed
        width = (int(CURVES[size][2:]) + 7) // 8
        return b"".join(n.to_bytes(width, "big") for n in integers_of(signed))

    def sign(self, claims, sign=None, **header):
        """Claims as they are; `sign` makes another signature of the text."""
        head = dict({"alg": self.alg, "typ": "JWT"}, **header)
        text = ".".join(tokens.b64(json.dumps(part).encode()) for part in (head, claims))
        return text + "." + tokens.b64((sign or self.signature)(text.encode()))

    def sign_with_public_key(self, text):
        """As if what everybody may read were an HMAC secret."""
        with open(self.public, "rb") as f:
            return hmac.new(f.read(), text, hashlib.sha256).digest()

