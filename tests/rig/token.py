"""Session tokens in exact bytes: what an issuer signs, and what an attacker would."""
import base64
import hashlib
import hmac
import json
import os
import time

ISSUER, AUDIENCE = "https://app.test", "weir"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def new_secret():
    """Text of 256 random bits, as `weir token keygen` makes them."""
    return base64.b64encode(os.urandom(48)).decode()


def sign(secret, claims, header=None):
    """Claims as they are: nothing is added."""
    head = {"alg": "HS256", "typ": "JWT"} if header is None else header
    text = b64(json.dumps(head).encode()) + "." + b64(json.dumps(claims).encode())
    key = secret if isinstance(secret, bytes) else secret.encode()
    return text + "." + b64(hmac.new(key, text.encode(), hashlib.sha256).digest())


def claims(sid="s1", ttl=3600, **more):
    """What an ordinary token says; a claim that is None is left out."""
    now = int(time.time())
    said = dict({"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + ttl, "sid": sid, "tenant": "acme",
                 "sub": "user-17", "jti": os.urandom(8).hex()}, **more)
    return {k: v for k, v in said.items() if v is not None}


def mint(secret, sid="s1", ttl=3600, **more):
    return sign(secret, claims(sid, ttl, **more))


def basic(secret, user="weir"):
    return "Basic " + base64.b64encode(("%s:%s" % (user, secret)).encode()).decode()


def bearer(token):
    return "Bearer " + token
