"""An HTTP server that misbehaves in one of many ways, for the tests of `bcsc fetch`. The first part of a request's path
names the way: http://127.0.0.1:PORT/WAY/MM/GROUP/NAME.tar.gz. One server object is one such server, with a memory of its
own of what was asked; it serves the bytes it was given.
"""
import email.utils
import http.server
import socket
import struct
import threading
import time

OLD, NEW = '"old"', '"new"'  # ETags
DATE = email.utils.formatdate(1.5e9, usegmt=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "BadServer"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        way = self.path.split("/")[1]
        with server.lock:
            server.requests.append({"path": self.path, "range": self.headers["Range"],
                                    "if_range": self.headers["If-Range"], "user_agent": self.headers["User-Agent"]})
            self.turn = len(server.requests)  # 1 for the first request
        self.close_connection = True
        try:
            getattr(self, "way_" + way)()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client has hung up

    # --- What the ways are made of ----------------------------------------------------------------------------------

    def head(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.send_header("Connection", "close")
        self.end_headers()

    def asked_from(self):
        """The N of "Range: bytes=N-"; 0 if the whole file is asked for."""
        asked = self.headers["Range"]
        return int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0

    def whole(self, body, etag=OLD, **more):
        self.head(200, Content_Length=len(body), ETag=etag, Last_Modified=DATE, **more)
        self.wfile.write(body)

    def rest(self, body, etag=OLD, date=DATE):
        first = self.asked_from()
        self.head(206, Content_Length=len(body) - first, ETag=etag, Last_Modified=date,
                  Content_Range=f"bytes {first}-{len(body) - 1}/{len(body)}")
        self.wfile.write(body[first:])

    def honest(self, body, etag=OLD):
        """As RFC 9110 requires: the rest if the file is still the same, else all of it."""
        if self.asked_from() > 0 and self.headers["If-Range"] in (etag, DATE):
            self.rest(body, etag)
        else:
            self.whole(body, etag)

    def half_then_reset(self, etag=OLD, date=DATE, share=0.5):
        body = self.server.body
        self.head(200, Content_Length=len(body), ETag=etag, Last_Modified=date)
        self.wfile.write(body[:int(len(body) * share)])
        self.wfile.flush()
        time.sleep(0.3)  # a reset may overtake what was sent
        self.reset()

    def reset(self):
        # With this option close() sends RST.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.wfile = self.rfile = open("/dev/null", "r+b")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    # --- Good ones --------------------------------------------------------------------------------------------------

    def way_good(self):
        self.honest(self.server.body)

    def way_no_length(self):
        self.head(200)
        self.wfile.write(self.server.body)

    def way_chunked(self):
        self.head(200, Transfer_Encoding="chunked")
        for at in range(0, len(self.server.body), 10000):
            self.chunk(self.server.body[at:at + 10000])
        self.chunk(b"")

    def way_slow(self):
        body = self.server.body
        self.head(200, Content_Length=len(body), ETag=OLD)
        for at in range(0, len(body), len(body) // 10):
            self.wfile.write(body[at:at + len(body) // 10])
            time.sleep(0.1)

    # --- Refusals ---------------------------------------------------------------------------------------------------

    def way_status(self):
        """/status/404/MM/...: that status, with a page that claims to be an archive; /status/500x2/...: twice, then good."""
        status, _, times = self.path.split("/")[2].partition("x")
        if times and self.turn > int(times):
            self.honest(self.server.body)
        else:
            self.head(int(status), Content_Length=len(self.server.body), Retry_After=1 if status == "503" else None)
            self.wfile.write(self.server.body)

    def way_endless_refusal(self):
        self.head(404)
        while True:
            self.wfile.write(b"no such file " * 1000)

    def way_silent(self):
        self.server.stopped.wait(30)

    def way_hangs_up(self):
        self.reset()

    def way_no_http(self):
        self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n" * 10)

    # --- Broken bodies ----------------------------------------------------------------------------------------------

    def way_truncated(self):
        """Nothing to resume by: neither ETag nor date."""
        self.head(200, Content_Length=len(self.server.body))
        self.wfile.write(self.server.body[:len(self.server.body) // 3])

    def way_truncated_resumable(self):
        """A third each time, of the rest, too."""
        first, body = self.asked_from(), self.server.body
        if first == 0:
            self.head(200, Content_Length=len(body), ETag=OLD)
        else:
            self.head(206, Content_Length=len(body) - first, ETag=OLD,
                      Content_Range=f"bytes {first}-{len(body) - 1}/{len(body)}")
        self.wfile.write(body[first:first + len(body) // 3])

    def way_no_length_truncated(self):
        self.head(200)
        self.wfile.write(self.server.body[:len(self.server.body) // 3])

    def way_chunked_truncated(self):
        self.head(200, Transfer_Encoding="chunked")
        self.chunk(self.server.body[:5000])

    def way_length_too_small(self):
        self.head(200, Content_Length=len(self.server.body) // 2, ETag=OLD)
        self.wfile.write(self.server.body)

    def way_length_too_large(self):
        self.head(200, Content_Length=len(self.server.body) + 1000)
        self.wfile.write(self.server.body)

    def way_length_no_number(self):
        self.head(200, Content_Length="many")
        self.wfile.write(self.server.body)

    def way_trickle(self):
        self.head(200, Content_Length=len(self.server.body), ETag=OLD)
        for byte in self.server.body:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            if self.server.stopped.wait(0.2):
                break

    def way_oversized(self):
        self.head(200, Content_Length=1 << 45)
        self.wfile.write(self.server.body)

    def way_endless(self):
        self.head(200, Transfer_Encoding="chunked")
        self.chunk(self.server.body)
        while True:
            self.chunk(b"\0" * 65536)

    def way_html(self):
        self.head(200, Content_Type="text/html", Content_Length=len(b"<!DOCTYPE html><p>Please log in"))
        self.wfile.write(b"<!DOCTYPE html><p>Please log in")

    def way_empty(self):
        self.head(200, Content_Length=0)

    # --- Going on after a break -------------------------------------------------------------------------------------

    def way_reset(self):
        self.half_then_reset() if self.turn == 1 else self.honest(self.server.body)

    def way_reset_date_only(self):
        self.half_then_reset(etag=None) if self.turn == 1 else self.honest(self.server.body)

    def way_reset_weak_etag(self):
        self.half_then_reset(etag='W/"weak"', date=None) if self.turn == 1 else self.honest(self.server.body)

    def way_reset_often(self):
        """1.5 MiB more each time."""
        first, body = self.asked_from(), self.server.body
        if first == 0:
            self.head(200, Content_Length=len(body), ETag=OLD)
        else:
            self.head(206, Content_Length=len(body) - first, ETag=OLD,
                      Content_Range=f"bytes {first}-{len(body) - 1}/{len(body)}")
        self.wfile.write(body[first:first + 3 * (1 << 19)])

    def way_ignores_range(self):
        self.half_then_reset() if self.turn == 1 else self.whole(self.server.body)

    def way_changed(self):
        """The file has changed meanwhile; an honest server sends all of it."""
        self.half_then_reset() if self.turn == 1 else self.honest(self.server.other, NEW)

    def way_changed_ignores_if_range(self):
        """... a careless one sends the rest of the new file, though under its new ETag."""
        if self.turn == 1:
            self.half_then_reset()
        else:
            self.rest(self.server.other, NEW) if self.asked_from() else self.whole(self.server.other, NEW)

    def way_changed_in_silence(self):
        """... or under no ETag at all: then only the archive itself can show it."""
        if self.turn == 1:
            self.half_then_reset()
        else:
            self.rest(self.server.other, None, None) if self.asked_from() else self.whole(self.server.other, NEW)

    def way_rest_from_elsewhere(self):
        if self.turn == 1:
            self.half_then_reset()
        elif self.asked_from():
            body, first = self.server.body, self.asked_from() - 1000
            self.head(206, Content_Length=len(body) - first, ETag=OLD,
                      Content_Range=f"bytes {first}-{len(body) - 1}/{len(body)}")
            self.wfile.write(body[first:])
        else:
            self.whole(self.server.body)

    def way_rest_unasked(self):
        if self.turn == 1:
            self.head(206, Content_Length=1000, Content_Range=f"bytes 5000-5999/{len(self.server.body)}")
            self.wfile.write(self.server.body[5000:6000])
        else:
            self.whole(self.server.body)

    def way_not_satisfiable(self):
        if self.turn == 1:
            self.half_then_reset()
        elif self.asked_from():
            self.head(416, Content_Range="bytes */10", Content_Length=0)
        else:
            self.whole(self.server.body)

    def way_stalls_once(self):
        """Half of it, then nothing until the client is gone."""
        if self.turn == 1:
            self.head(200, Content_Length=len(self.server.body), ETag=OLD)
            self.wfile.write(self.server.body[:len(self.server.body) // 2])
            self.wfile.flush()
            self.server.half_sent.set()
            self.server.stopped.wait(30)
        else:
            self.honest(self.server.body)

    # --- Redirections -----------------------------------------------------------------------------------------------

    def redirect(self, to):
        page = b"moved"
        self.head(302, Location=to, Content_Length=len(page))
        self.wfile.write(page)

    def way_redirect(self):
        self.redirect(self.path.replace("/redirect/", "/good/"))

    def way_loop(self):
        self.redirect(self.path)

    def way_to_file(self):
        self.redirect("file:///etc/passwd")

    def way_to_ftp(self):
        self.redirect("ftp://127.0.0.1/x.tar.gz")

    def way_to_elsewhere(self):
        self.redirect(self.path.replace(f"/{self.path.split('/')[1]}", self.server.elsewhere, 1))

    def way_to_nowhere(self):
        self.head(302, Content_Length=0)


class BadServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, body, other=b""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.other, self.scheme, self.elsewhere = body, other, "http", ""
        self.lock, self.requests = threading.Lock(), []
        self.half_sent, self.stopped = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # clients that go away are what is tested

    def url(self, way):
        return f"{self.scheme}://127.0.0.1:{self.server_port}/{way}"

    def __exit__(self, *_):
        self.stopped.set()
        self.shutdown()
        self.server_close()
