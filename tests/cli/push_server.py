# SPDX-License-Identifier: MIT
"""
A server for tests of --push: it takes profiles as the real engines do, by their documentation, and
refuses what they refuse.

    push_server.py FOLDER [BEHAVIOUR] [--tls CERTIFICATE KEY] [--ipv6]

It writes its port to FOLDER/port, for each request a line to FOLDER/requests (path, then
header fields in lower case), the body that was taken to FOLDER/body.1, .2 ..., and the profile that
was in it, decompressed, to FOLDER/profile.1 ... BEHAVIOUR is what it does instead of taking them:

    status=N[:SECONDS]  it answers so, with Retry-After where SECONDS are given
    times=K,status=N    only to the first K requests
    silent, closing     it answers nothing: keeps the connection, or closes it
    endless             its answer has no end
    drip                nor has it here, and it comes slowly
    page                it answers with a page, as servers do that fall back on their pages
    grpc=N:MESSAGE      gRPC's status, in the header of an answer without a message
    partial=N:MESSAGE   OTLP's partial success
    redirect=URL        307
"""

import gzip
import http.server
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

from protobuf_fields import fields, one


class Refused(Exception):
    """What the real server would refuse, with its HTTP status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def need(condition, text, status=400):
    if not condition:
        raise Refused(status, text)


def take_pprof(body):
    profile = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    need(any(number == 2 for number, _ in fields(profile)), "no samples", 422)
    return profile


def take_pyroscope(query, body):
    given = {key: values[0] for key, values in urllib.parse.parse_qs(query).items()}
    name = re.fullmatch(r"[A-Za-z0-9._/-]+\{(.*)\}", given.get("name", ""))
    need(name, "name: invalid")
    for label in filter(None, name[1].split(",")):
        need(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=[^{},]+", label), f"label {label}")
    need(re.fullmatch(r"\d{10}", given.get("from", "")), "from")
    need(re.fullmatch(r"\d{10}", given.get("until", "")), "until")
    need(int(given["from"]) < int(given["until"]), "from is not before until")
    need(given.get("format") == "pprof", "format")
    return take_pprof(body), b"", "text/plain"


def take_parca(query, body):
    flag, size = struct.unpack(">BI", body[:5])
    need(flag == 0 and len(body) == 5 + size, "no frame of gRPC-Web")
    request = body[5:]
    series = one(request, 2)
    labels = {}
    for number, label in fields(one(series, 1)):
        need(number == 1, "labels")
        name = one(label, 1).decode()
        need(name not in labels, f"label {name} is there twice")
        labels[name] = one(label, 2).decode()
    need("__name__" in labels, "no __name__")
    print("labels", " ".join(f"{name}={labels[name]}" for name in sorted(labels)), file=requests)
    trailer = b"grpc-status: 0\r\ngrpc-message: \r\n"
    answer = struct.pack(">BI", 0, 0) + struct.pack(">BI", 0x80, len(trailer)) + trailer
    return take_pprof(one(one(series, 2), 1)), answer, "application/grpc-web+proto"


def take_otlp(query, body):
    need(any(number == 2 for number, _ in fields(body)), "no dictionary")
    return body, b"", "application/x-protobuf"


ENGINES = {
    "/ingest": (take_pyroscope, "application/octet-stream"),
    "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw": (
        take_parca,
        "application/grpc-web+proto",
    ),
    "/v1development/profiles": (take_otlp, "application/x-protobuf"),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="text/plain", **more):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def misbehave(self):
        """Whether this request was answered so."""
        global left
        if left == 0:
            return False
        left -= 1
        what, _, value = behaviour.partition("=")
        if what == "status":
            status, _, seconds = value.partition(":")
            more = {"Retry_After": seconds} if seconds else {}
            self.answer(int(status), b"not today\n", **more)
        elif what == "silent":
            while True:
                time.sleep(1)
        elif what == "closing":
            self.close_connection = True
        elif what in ("endless", "drip"):
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            try:
                while True:
                    self.wfile.write(b"." * (1 if what == "drip" else 4096))
                    if what == "drip":
                        time.sleep(0.05)
            except OSError:
                pass
        elif what == "page":
            self.answer(200, b"<!doctype html><title>Engine</title>", "text/html")
        elif what == "grpc":
            status, _, message = value.partition(":")
            self.answer(200, b"", "application/grpc-web+proto", Grpc_Status=status, Grpc_Message=message)
        elif what == "partial":
            count, _, message = value.partition(":")
            inside = bytes([8, int(count), 18, len(message)]) + message.encode()
            self.answer(200, bytes([10, len(inside)]) + inside, "application/x-protobuf")
        elif what == "redirect":
            self.answer(307, b"", Location=value)
        return True

    def take(self):
        path, _, query = self.path.partition("?")
        length = self.headers["Content-Length"]
        need(length is not None, "no length", 411)
        body = self.rfile.read(int(length))
        header = " ".join(f"{name.lower()}={value}" for name, value in self.headers.items())
        print(self.path, header, file=requests)
        for engine in ENGINES:
            if path.endswith(engine):
                take, kind = ENGINES[engine]
                break
        else:
            raise Refused(404, "page not found")
        need(self.headers["Content-Type"] == kind, "content type", 415)
        if self.misbehave():
            return
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        profile, answer, kind = take(query, body)
        global count
        count += 1
        for name, content in ("profile", profile), ("body", body):
            with open(f"{folder}/{name}.{count}", "wb") as out:
                out.write(content)
        self.answer(200, answer, kind)

    def do_POST(self):
        try:
            self.take()
        except ValueError as wrong:
            self.answer(400, f"{wrong}\n".encode())
        except Refused as refused:
            self.answer(refused.status, f"{refused}\n".encode())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # a client that went
        pass


arguments = sys.argv[1:]
folder = arguments.pop(0)
behaviour, left, count = "", 0, 0
certificate = None
host = "127.0.0.1"
while arguments:
    word = arguments.pop(0)
    if word == "--tls":
        certificate = arguments.pop(0), arguments.pop(0)
    elif word == "--ipv6":
        host = "::1"
        Server.address_family = socket.AF_INET6
    else:
        times, _, rest = word.partition(",")
        left, behaviour = -1, word
        if times.startswith("times="):
            left, behaviour = int(times[6:]), rest
requests = open(f"{folder}/requests", "w", buffering=1)
server = Server((host, 0), Handler)
if certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(f"{folder}/port.new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(f"{folder}/port.new", f"{folder}/port")
sys.stdin.read()  # until the test closes it
