"""He has all day to crack the key of his own token, or to bend how it is checked."""
import base64
import hashlib
import json
import subprocess

import pytest

from rig import token as tokens
from rig.weir import NotStarted
from test_sessions import ask, guarded  # noqa: F401 - fixtures

pytestmark = pytest.mark.single

WEAK = ["secret", "hunter2" * 3, "changeme" * 4, "x" * 42, "0" * 31, "correct horse battery staple", "a" * 16, "", "weirweirweirweirweirweirweirweir"]


@pytest.mark.parametrize("secret", WEAK)
def test_a_secret_that_can_be_guessed_signs_no_session(guarded, secret):  # noqa: F811
    with pytest.raises(NotStarted) as told:
        guarded(environment={"KEY": secret})
    assert "ended with 78" in str(told.value) and (not secret or len(secret) < 9 or secret not in str(told.value))


@pytest.mark.parametrize("alg,least", [("HS256", 32), ("HS384", 48), ("HS512", 64)])
def test_nor_one_that_is_shorter_than_its_hash(guarded, alg, least, tmp_path):  # noqa: F811
    key = tmp_path / "key"
    key.write_bytes(hashlib.shake_128(b"any").digest(least - 1))
    key.chmod(0o600)
    with pytest.raises(NotStarted, match="ended with 78"):
        guarded(config={"sessions": {"keys": [{"issuer": tokens.ISSUER, "audience": "weir", "alg": alg, "secret": "file:%s" % key}]}})


def rsa(bits, tmp_path):
    subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:%d" % bits, "-out", tmp_path / "k.pem"], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", tmp_path / "k.pem", "-pubout", "-out", tmp_path / "pub.pem"], check=True)
    return tmp_path / "pub.pem"


def of_a_public_key(path, alg="RS256"):
    return {"sessions": {"keys": [{"issuer": tokens.ISSUER, "audience": "weir", "alg": alg, "pem": "file:%s" % path}]}}


def test_nor_an_rsa_key_that_can_be_factored(guarded, tmp_path):  # noqa: F811
    with pytest.raises(NotStarted, match="ended with 78"):
        guarded(config=of_a_public_key(rsa(1024, tmp_path)))


def unsigned(header, claims, signature=b""):
    return ".".join((tokens.b64(json.dumps(header).encode()), tokens.b64(json.dumps(claims).encode()), tokens.b64(signature)))


def test_the_public_key_is_no_secret_and_no_algorithm_is_his_to_choose(guarded, upstream, connect, tmp_path):  # noqa: F811
    path = rsa(2048, tmp_path)
    proxy, said, pem = guarded(config=of_a_public_key(path)), tokens.claims(), path.read_bytes()
    der = base64.b64decode(b"".join(pem.splitlines()[1:-1]))
    tries = [tokens.sign(key, said, dict({"typ": "JWT"}, alg=alg)) for key in (pem, pem.strip(), der, b"") for alg in ("HS256", "RS256", "hs256", "none")]
    tries += [unsigned({"alg": alg}, said, signature) for alg in ("none", "None", "NONE", "", None, "RS256", 0) for signature in (b"", b"\0" * 256)]
    own = {"kty": "oct", "k": tokens.b64(b"k" * 32)}
    tries += [tokens.sign(b"k" * 32, said, dict({"alg": "HS256"}, **more)) for more in (
        {"jwk": own}, {"kid": "../../dev/null"}, {"kid": "' or 1=1"}, {"jku": "http://evil.test/keys"}, {"x5u": "http://evil.test/c"}, {"crit": ["exp"]},
        {"b64": False, "crit": ["b64"]}, {"zip": "DEF"}, {"alg": "RS256", "jwk": own})]
    for token in tries:
        assert ask(connect(proxy), token).get("x-weir-reason") == "session_invalid", token
    assert upstream.requests == []


def test_his_own_token_is_no_start_for_a_better_one(guarded, upstream, connect):  # noqa: F811
    """Its parts exchanged, its claims doubled, its signature cut or malleable."""
    secret = tokens.new_secret()
    proxy = guarded(environment={"KEY": secret}, bind="none")
    token, other = (tokens.mint(secret, sid) for sid in ("s1", "s2"))
    head, body, signature = token.split(".")
    rich = tokens.b64(json.dumps(dict(json.loads(base64.urlsafe_b64decode(body + "==")), tenant="globex")).encode())
    tries = [".".join(t) for t in ((head, rich, signature), (head, body, other.split(".")[2]), (head, body, signature[:-1]), (head, body, signature + "="),
                                   (head, body, signature[::-1]), (head, body, ""), (head, body + "=", signature), (body, head, signature),
                                   (head, body, signature, signature), (head, body))]
    flipped = signature[:-1] + chr(ord(signature[-1]) ^ 1)
    tries += [".".join((head, body, flipped)), token.upper(), " " + token + " x", token + "\u00e9"]
    for one in tries:
        assert ask(connect(proxy), one).status in (400, 407), one
    assert upstream.requests == [] and ask(connect(proxy), token).status == 200


@pytest.mark.parametrize("more", [{"sid": "../x"}, {"sid": "a}b{c"}, {"sid": "x" * 4096}, {"tenant": "a:b"}, {"sid": "."}, {"sid": ".."}, {"sub": "a\nb"},
                                  {"jti": "a\u0000b"}, {"tenant": ""}, {"sid": ["s1"]}, {"tenant": "acm\u00e9"}, {"turn": "a b"}])
def test_names_that_could_mean_another_session_are_none(guarded, upstream, connect, more):  # noqa: F811
    secret = tokens.new_secret()
    proxy = guarded(environment={"KEY": secret})
    answer = ask(connect(proxy), tokens.mint(secret, **more))
    assert answer.get("x-weir-reason") == "session_invalid" or more == {"tenant": "a:b"}
