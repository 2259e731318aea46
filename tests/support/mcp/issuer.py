#!/usr/bin/env python3
"""An authorization server whose access tokens are JSON Web Tokens. Needs the program openssl.

issuer.py keys DIR                     keys rsa, rsa1024, ec, ed and other
issuer.py serve DIR LOG                prints the port. Every request is a line of LOG
issuer.py sign DIR KEY ALG KID CLAIMS [HEADER]    prints a token; KID "" for none
issuer.py jwk DIR KEY KID [MEMBERS]    prints the public key

DIR/set has the answer of /jwks, DIR/metadata, if present, members of the metadata.
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import subprocess
import sys


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*args, data=None):
    return subprocess.run(["openssl", *args], input=data, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def make_keys(where):
    for name, algorithm in (("rsa", "rsa:2048"), ("rsa1024", "rsa:1024"), ("ec", "ec"), ("other", "ec"), ("ed", "ed25519")):
        kind, _, bits = algorithm.partition(":")
        options = ["-pkeyopt", "rsa_keygen_bits:" + bits] if bits else ["-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ec" else []
        openssl("genpkey", "-algorithm", kind, *options, "-out", os.path.join(where, name + ".pem"))


def jwk(where, key, kid, more=None):
    path = os.path.join(where, key + ".pem")
    der = openssl("pkey", "-in", path, "-pubout", "-outform", "DER")
    if key.startswith("rsa"):
        modulus = openssl("rsa", "-in", path, "-noout", "-modulus").decode().strip().split("=")[1]
        out = {"kty": "RSA", "n": b64(bytes.fromhex(modulus)), "e": "AQAB"}
    elif key == "ed":
        out = {"kty": "OKP", "crv": "Ed25519", "x": b64(der[-32:])}
    else:
        out = {"kty": "EC", "crv": "P-256", "x": b64(der[-64:-32]), "y": b64(der[-32:])}
    if kid:
        out["kid"] = kid
    return {**out, **(more or {})}


def raw_ec(der):
    """r and s of a signature in DER, 32 bytes each."""
    at, out = 2, b""
    for _ in range(2):
        n = der[at + 1]
        out += der[at + 2 : at + 2 + n].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + n
    return out


def sign(where, key, alg, kid, claims, header=None):
    head = {"typ": "at+jwt", "alg": alg, **({"kid": kid} if kid else {}), **(header or {})}
    text = (b64(json.dumps(head).encode()) + "." + b64(claims.encode())).encode()
    path = os.path.join(where, key + ".pem")
    if alg == "none":
        signature = b""
    elif alg == "HS256":  # with the public key as the secret
        signature = hmac.new(openssl("pkey", "-in", path, "-pubout"), text, hashlib.sha256).digest()
    elif key == "ed":
        name = os.path.join(where, "text.%d" % os.getpid())
        with open(name, "wb") as f:
            f.write(text)
        signature = openssl("pkeyutl", "-sign", "-rawin", "-inkey", path, "-in", name)
        os.unlink(name)
    else:
        signature = openssl("dgst", "-sha256", "-sign", path, data=text)
        signature = signature if key.startswith("rsa") else raw_ec(signature)
    return text.decode() + "." + b64(signature)


def serve(where, log):
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            with open(log, "a") as f:
                f.write(self.path + "\n")
            base = "http://127.0.0.1:%d" % self.server.server_port
            body, path = b"", os.path.join(where, "metadata")
            if self.path == "/.well-known/openid-configuration":
                metadata = {"issuer": base, "jwks_uri": base + "/jwks"}
                if os.path.exists(path):
                    with open(path) as f:
                        metadata.update(json.load(f))
                body = json.dumps(metadata).encode()
            elif self.path == "/jwks":
                with open(os.path.join(where, "set"), "rb") as f:
                    body = f.read()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *a: None  # a client that hangs up
    print(server.server_port, flush=True)
    server.serve_forever()


command, where, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
if command == "keys":
    make_keys(where)
elif command == "serve":
    serve(where, *rest)
elif command == "jwk":
    print(json.dumps(jwk(where, rest[0], rest[1], json.loads(rest[2]) if len(rest) > 2 else None)))
else:
    print(sign(where, rest[0], rest[1], rest[2], rest[3], json.loads(rest[4]) if len(rest) > 4 else None))
