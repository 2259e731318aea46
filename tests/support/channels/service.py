"""service.py -- what the stand-ins of chat services share: HTTP and WebSockets on one port.

A subclass of Service has `async def http(self, request)`, which returns (status, headers, body),
and `async def socket(self, ws, request)` for requests that become a WebSocket. It shares no code
with src/."""
import sys
sys.dont_write_bytecode = True
import asyncio, base64, hashlib, json, os, struct, urllib.parse


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.headers, self.body = method, headers, body
        parts = urllib.parse.urlsplit(target)
        self.path, self.query = parts.path, dict(urllib.parse.parse_qsl(parts.query))

    def data(self):
        """The body: JSON or a form."""
        if "json" in self.headers.get("content-type", ""):
            return json.loads(self.body or b"{}")
        form = dict(urllib.parse.parse_qsl(self.body.decode("utf-8", "replace")))
        return {k: json.loads(v) if v[:1] in "[{" else v for k, v in form.items()}

    def file(self):
        """The bytes of an upload: the body, or the first file of a form."""
        kind = self.headers.get("content-type", "")
        if "multipart/form-data" not in kind:
            return self.body
        edge = b"--" + kind.split("boundary=")[1].strip('"').encode()
        for part in self.body.split(edge):
            head, _, data = part.partition(b"\r\n\r\n")
            if b"filename=" in head:
                return data[:-2]
        return b""


class Closed(Exception):
    pass


class WebSocket:
    def __init__(self, reader, writer):
        self.reader, self.writer, self.code = reader, writer, None

    async def frame(self, opcode, payload):
        head = bytes([0x80 | opcode])
        n = len(payload)
        head += bytes([n]) if n < 126 else bytes([126]) + struct.pack(">H", n) if n < 65536 else bytes([127]) + struct.pack(">Q", n)
        self.writer.write(head + payload)
        await self.writer.drain()

    async def send(self, value):
        await self.frame(1, (value if isinstance(value, str) else json.dumps(value)).encode())

    async def close(self, code=None):
        await self.frame(8, struct.pack(">H", code) if code else b"")
        self.writer.close()

    def cut(self):
        self.writer.transport.abort()

    async def receive(self):
        """The next message as JSON; raises Closed."""
        try:
            while True:
                first, second = await self.reader.readexactly(2)
                n = second & 127
                if n == 126:
                    n = struct.unpack(">H", await self.reader.readexactly(2))[0]
                elif n == 127:
                    n = struct.unpack(">Q", await self.reader.readexactly(8))[0]
                mask = await self.reader.readexactly(4)
                data = bytes(b ^ mask[i % 4] for i, b in enumerate(await self.reader.readexactly(n)))
                kind = first & 15
                if kind == 8:
                    self.code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else 1005
                    await self.frame(8, data[:2])
                    raise Closed
                if kind == 9:
                    await self.frame(10, data)
                elif kind == 1:
                    return json.loads(data)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Closed


class Service:
    def __init__(self, folder):
        self.folder = folder
        self.faults = {}
        os.makedirs(os.path.join(folder, "files"), exist_ok=True)

    def note(self, name, *words):
        with open(os.path.join(self.folder, name), "a") as f:
            f.write(" ".join(w if isinstance(w, str) else json.dumps(w, ensure_ascii=False) for w in words) + "\n")

    def fault(self, name):
        """The first line of DIR/fail that begins with name, which is removed; else None."""
        path = os.path.join(self.folder, "fail")
        if not os.path.exists(path):
            return None
        lines = open(path).read().splitlines()
        for i, line in enumerate(lines):
            if line.split(" ")[0] == name:
                del lines[i]
                with open(path, "w") as f:
                    f.write("".join(x + "\n" for x in lines))
                return line.split(" ")[1:] or [""]
        return None

    async def serve_client(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = {k.strip().lower(): v.strip() for k, v in (h.split(":", 1) for h in head[1:] if ":" in h)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                request = Request(method, target, headers, body)
                if "websocket" in headers.get("upgrade", "").lower():
                    key = hashlib.sha1((headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
                    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                 b"Sec-WebSocket-Accept: " + base64.b64encode(key) + b"\r\n\r\n")
                    await self.socket(WebSocket(reader, writer), request)
                    break
                answer = await self.http(request)
                if answer is None:  # cut the connection
                    writer.transport.abort()
                    return
                status, more, out = answer
                if not isinstance(out, (bytes, str)):
                    out, more = json.dumps(out), {"Content-Type": "application/json", **more}
                out = out.encode() if isinstance(out, str) else out
                lines = "".join(f"{k}: {v}\r\n" for k, v in more.items())
                writer.write(f"HTTP/1.1 {status} X\r\n{lines}Content-Length: {len(out)}\r\n\r\n".encode() + out)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, Closed):
            pass
        finally:
            writer.close()

    async def main(self):
        server = await asyncio.start_server(self.serve_client, "127.0.0.1", 0, limit=64 << 20)
        self.port = server.sockets[0].getsockname()[1]
        print(self.port, flush=True)
        await server.serve_forever()

    def run(self):
        try:
            asyncio.run(self.main())
        except KeyboardInterrupt:
            sys.exit(0)
