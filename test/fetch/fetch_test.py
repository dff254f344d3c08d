"""`bcsc fetch` against servers that misbehave (test/support/bad_server.py): exit status, message, what was asked, and what
the cache holds afterwards. No network is used.

    fetch_test.py BCSC [--cannot-fetch] [--without-crypto] [--only NAME]
"""
import argparse
import concurrent.futures
import contextlib
import gzip
import hashlib
import io
import json
import os
import pathlib
import random
import shutil
import signal
import ssl
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from bad_server import BadServer  # noqa: E402

SKIPPED = 77
MATRIX = "HB/west0067"  # 67 x 67, 294 entries, real, unsymmetric


def archive(seed: int, size: int = 300_000, name: str = MATRIX, header: str = "real general", sizes: str = "67 67 294",
            member: str = "{0}/{0}.mtx") -> bytes:
    """A .tar.gz as the collection ships it: the matrix, and something beside it that does not compress."""
    noise, name = random.Random(seed), name.split("/")[1]
    places = [(i, j) for j in range(1, 68) for i in range(1, 68)]
    entries = sorted(noise.sample(places, 294), key=lambda at: (at[1], at[0]))
    text = f"%%MatrixMarket matrix coordinate {header}\n% about it\n{sizes}\n"
    text += "".join(f"{i} {j} {noise.uniform(-1, 1)!r}\n" for i, j in entries)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, content in ((member, text.encode()), ("{0}/{0}_noise.bin", noise.randbytes(size))):
            head = tarfile.TarInfo(path.format(name))
            head.size = len(content)
            tar.addfile(head, io.BytesIO(content))
    return gzip_named(packed.getvalue(), "")


def gzip_named(content: bytes, name: str) -> bytes:
    """gzip keeps a file's name, which is used to reach a given length."""
    target = io.BytesIO()
    with gzip.GzipFile(filename=name, mode="wb", fileobj=target, mtime=0) as file:
        file.write(content)
    return target.getvalue()


def as_long_as(model: bytes, packed: bytes) -> bytes:
    """The same content in this many bytes, so that two files cannot be told apart by length."""
    named = gzip_named(gzip.decompress(packed), "x" * (len(model) - len(packed) - 1))
    assert len(named) == len(model)
    return named


OTHER = archive(2)
BODY = gzip_named(gzip.decompress(archive(1)), "x" * 1000)
OTHER = as_long_as(BODY, OTHER)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Run:
    """One program run and the folder it works in."""

    def __init__(self, program: str, cache: pathlib.Path):
        self.program, self.cache = program, cache
        self.code, self.out, self.err = None, "", ""

    def command(self, *arguments, environment=()):
        clean = {name: value for name, value in os.environ.items()
                 if not name.lower().endswith("_proxy") and not name.startswith("BCSC_")}
        return [self.program, "fetch", *map(str, arguments)], clean | {"NO_PROXY": "*"} | dict(environment)

    def fetch(self, url, *arguments, name=MATRIX, environment=(), own_cache=True):
        folder = ["--cache", self.cache] if own_cache else []
        words, clean = self.command(name, "--url", url, *folder, "--retry-delay", "0.05", *arguments,
                                    environment=environment)
        done = subprocess.run(words, env=clean, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        return self

    @property
    def target(self) -> pathlib.Path:
        return self.cache / f"{MATRIX}.tar.gz"

    def files(self) -> list[str]:
        return sorted(path.name.removeprefix("west0067.tar.gz") or ".archive"
                      for path in self.cache.rglob("*") if path.is_file())

    # --- What is expected -------------------------------------------------------------------------------------------

    def has(self, body: bytes):
        """Fetched whole: the archive and its record, nothing else."""
        assert self.code == 0, f"exit status {self.code}: {self.err}"
        assert self.target.read_bytes() == body, "another file"
        if WITH_CRYPTO:
            assert self.files() == [".archive", ".sha256"], self.files()
            assert (self.target.parent / "west0067.tar.gz.sha256").read_text() == f"{sha256(body)}  west0067.tar.gz\n"
            assert sha256(body) in self.out, self.out
        else:
            assert self.files() == [".archive"], self.files()
            assert "libcrypto" in self.out, self.out
        return self

    def failed(self, *says: str, files: tuple[str, ...] = ()):
        """An error that says so, and these files left: no archive but one that was there before."""
        assert self.code == 1, f"exit status {self.code}: {self.err}{self.out}"
        for part in says:
            assert part in self.err, f"{part!r} is not in {self.err!r}"
        assert self.files() == sorted(files), self.files()
        return self

    def noted(self, *says: str):
        for part in says:
            assert part in self.err, f"{part!r} is not in {self.err!r}"
        return self


CASES = {}
WITH_CRYPTO = True
PARTIAL = (".part", ".resume")


def case(function):
    CASES[function.__name__] = function
    return function


def requests(server, count: int):
    assert len(server.requests) == count, server.requests
    return server.requests


# --- Good servers ---------------------------------------------------------------------------------------------------

@case
def good(run, server):
    run.fetch(server.url("good")).has(BODY)
    assert requests(server, 1)[0]["path"] == "/good/MM/HB/west0067.tar.gz"
    assert server.requests[0]["range"] is None
    assert server.requests[0]["user_agent"].startswith("bcsc/")
    assert "Davis" in run.out and "CC-BY-4.0" in run.out, run.out
    # The second time no server is asked.
    run.fetch("http://127.0.0.1:9/").has(BODY)
    assert "in the cache" in run.out, run.out
    requests(server, 1)


@case
def json_tells_everything(run, server):
    run.fetch(server.url("good") + "/", "--json")
    assert run.code == 0 and run.target.read_bytes() == BODY, run.err
    told = json.loads(run.out)
    assert told["matrix"]["name"] == MATRIX and told["matrix"]["rows"] == 67 and told["matrix"]["nnz"] == 294, told
    assert told["path"] == str(run.target) and told["bytes"] == len(BODY), told
    assert told["sha256"] == (sha256(BODY) if WITH_CRYPTO else None), told
    assert (told["from_cache"], told["resumed_at"], told["attempts"]) == (False, 0, 1), told
    assert run.err == "", run.err
    assert json.loads(run.fetch("http://127.0.0.1:9", "--json").out)["from_cache"] is True


@case
def names_and_numbers(run, server):
    run.fetch(server.url("good"), name="west0067").has(BODY)
    number = next(entry["number"] for entry in catalogue(run, "west0067"))
    run.fetch("http://127.0.0.1:9", name=str(number)).has(BODY)
    run.fetch("http://127.0.0.1:9", name="hb/WEST0067").has(BODY)


@case
def without_a_length(run, server):
    run.fetch(server.url("no_length")).has(BODY)


@case
def chunked(run, server):
    run.fetch(server.url("chunked")).has(BODY)


@case
def length_that_is_no_number(run, server):
    # libcurl may refuse such a header or ignore it; either way the file is whole or not there.
    run.fetch(server.url("length_no_number"), "--retries", 1)
    run.has(BODY) if run.code == 0 else run.failed()


@case
def redirected(run, server):
    run.fetch(server.url("redirect")).has(BODY)
    assert [asked["path"].split("/")[1] for asked in requests(server, 2)] == ["redirect", "good"]


@case
def progress_is_shown(run, server):
    run.fetch(server.url("slow"), "--progress").has(BODY)
    assert "HB/west0067 [" in run.err and " of " in run.err and "#" in run.err, run.err


@case
def folders_from_the_environment(run, server):
    home = run.cache
    for variable, value, where in (("BCSC_CACHE", home / "own", home / "own"),
                                   ("XDG_CACHE_HOME", home / "xdg", home / "xdg" / "bcsc"),
                                   ("HOME", home / "me", home / "me" / ".cache" / "bcsc")):
        bare = {"BCSC_CACHE": "", "XDG_CACHE_HOME": "", "HOME": str(home / "nobody")}
        run.fetch(server.url("good"), own_cache=False, environment=bare | {variable: str(value)})
        assert run.code == 0, run.err
        assert (where / "HB/west0067.tar.gz").read_bytes() == BODY, variable
    run.fetch(server.url("good"), own_cache=False, environment=bare | {"HOME": ""})
    assert run.code == 1 and "BCSC_CACHE" in run.err, run.err


@case
def url_from_the_environment(run, server):
    words, clean = run.command(MATRIX, "--cache", run.cache, environment={"BCSC_COLLECTION_URL": server.url("good")})
    run.code = subprocess.run(words, env=clean, capture_output=True, text=True, timeout=100).returncode
    assert run.code == 0 and run.target.read_bytes() == BODY
    requests(server, 1)


# --- Refusals -------------------------------------------------------------------------------------------------------

@case
def not_found(run, server):
    run.fetch(server.url("status/404")).failed("HTTP status 404", "/MM/HB/west0067.tar.gz")
    requests(server, 1)


@case
def forbidden(run, server):
    told = json.loads(run.fetch(server.url("status/403"), "--json").failed("HTTP status 403").out)
    assert told["error"]["code"] == "network_error", told
    requests(server, 1)


@case
def no_content(run, server):
    run.fetch(server.url("status/204")).failed("HTTP status 204")
    requests(server, 1)


@case
def error_500_then_good(run, server):
    run.fetch(server.url("status/500x2"), "--retries", 2).has(BODY).noted("attempt 1 failed: HTTP status 500", "attempt 2")
    requests(server, 3)


@case
def error_500_for_ever(run, server):
    run.fetch(server.url("status/500"), "--retries", 2).failed("HTTP status 500", "(attempt 3)")
    requests(server, 3)


@case
def error_503_says_when(run, server):
    began = time.monotonic()
    run.fetch(server.url("status/503x1")).has(BODY).noted("HTTP status 503", "in 1.0 s")
    assert time.monotonic() - began >= 1
    requests(server, 2)


@case
def endless_refusal(run, server):
    run.fetch(server.url("endless_refusal")).failed("HTTP status 404")


@case
def nobody_listens(run, server):
    server.server_close()
    run.fetch(server.url("good"), "--retries", 1).failed("attempt 1 failed", "(attempt 2)")


@case
def silence(run, server):
    began = time.monotonic()
    run.fetch(server.url("silent"), "--timeout", 1, "--retries", 1).failed("(attempt 2)")
    assert time.monotonic() - began < 20
    requests(server, 2)


@case
def hangs_up(run, server):
    run.fetch(server.url("hangs_up"), "--retries", 1).failed("(attempt 2)")


@case
def no_http(run, server):
    run.fetch(server.url("no_http"), "--retries", 0).failed("127.0.0.1")


@case
def loop(run, server):
    run.fetch(server.url("loop")).failed("redirects")
    requests(server, 6)


@case
def redirected_to_a_file(run, server):
    run.fetch(server.url("to_file")).failed("file")
    requests(server, 1)


@case
def redirected_to_ftp(run, server):
    run.fetch(server.url("to_ftp")).failed("ftp")
    requests(server, 1)


@case
def redirected_to_nowhere(run, server):
    run.fetch(server.url("to_nowhere")).failed("HTTP status 302")


def encrypt(server, folder: pathlib.Path) -> pathlib.Path:
    """Gives the server a certificate of its own making, and its path."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.scheme = "https"
    return certificate


@case
def certificates(run, server):
    """One that nobody vouches for is refused at once, and so is a redirection to plain http."""
    if shutil.which("openssl") is None:
        return "no openssl program here to make a certificate"
    with tempfile.TemporaryDirectory() as folder:
        certificate = encrypt(server, pathlib.Path(folder))
        run.fetch(server.url("good")).failed("certificate")
        assert "attempt 1 failed" not in run.err, run.err
        requests(server, 0)
        run.fetch(server.url("good").replace("127.0.0.1", "localhost"), "--ca-file", certificate).failed("localhost")
        with BadServer(BODY) as open_line:
            server.elsewhere = open_line.url("good")
            run.fetch(server.url("to_elsewhere"), "--ca-file", certificate).failed("http")
            requests(open_line, 0)
        server.elsewhere = server.url("good")
        run.fetch(server.url("to_elsewhere"), "--ca-file", certificate).has(BODY)
        run.fetch(server.url("good"), "--again", "--ca-file", pathlib.Path(folder) / "none").failed(
            files=tuple(run.files()))


# --- Broken bodies --------------------------------------------------------------------------------------------------

@case
def truncated(run, server):
    run.fetch(server.url("truncated"), "--retries", 2).failed("attempt 2 failed", "(attempt 3)")
    assert [asked["range"] for asked in requests(server, 3)] == [None] * 3, "there is nothing to resume by"


@case
def truncated_and_resumed(run, server):
    run.fetch(server.url("truncated_resumable")).has(BODY).noted("attempt 1 failed", "attempt 2 failed")
    third = len(BODY) // 3
    asked = [(asked["range"], asked["if_range"]) for asked in server.requests]
    assert asked[:3] == [(None, None), (f"bytes={third}-", '"old"'), (f"bytes={2 * third}-", '"old"')], asked


@case
def truncated_without_a_length(run, server):
    run.fetch(server.url("no_length_truncated"), "--retries", 1).failed("(attempt 2)")
    requests(server, 2)


@case
def truncated_without_a_length_and_long(run, server):
    """More than 1 MiB each time, but always the same: no progress."""
    server.body = archive(6, 4 << 20)
    run.fetch(server.url("no_length_truncated"), "--retries", 2).failed("(attempt 3)")
    requests(server, 3)


@case
def truncated_chunks(run, server):
    run.fetch(server.url("chunked_truncated"), "--retries", 1).failed("(attempt 2)")


@case
def length_too_small(run, server):
    run.fetch(server.url("length_too_small"), "--retries", 1).failed("(attempt 2)")


@case
def length_too_large(run, server):
    run.fetch(server.url("length_too_large"), "--retries", 1).failed("(attempt 2)")


@case
def trickle(run, server):
    """One byte in 0.2 s is no download; what came is kept to be resumed."""
    began = time.monotonic()
    run.fetch(server.url("trickle"), "--timeout", 1, "--retries", 1).failed("(attempt 2)", files=PARTIAL)
    assert time.monotonic() - began < 30


@case
def announced_too_much(run, server):
    run.fetch(server.url("oversized")).failed(str(1 << 45), "max_bytes")
    requests(server, 1)


@case
def endless_body(run, server):
    run.fetch(server.url("endless"), "--max-bytes", 2_000_000).failed("more bytes come than max_bytes = 2000000")
    requests(server, 1)


@case
def own_limit(run, server):
    run.fetch(server.url("good"), "--max-bytes", len(BODY) - 1).failed("max_bytes")
    run.fetch(server.url("good"), "--max-bytes", len(BODY)).has(BODY)


@case
def html_page(run, server):
    run.fetch(server.url("html")).failed("is not a gzip file", "<!DOCTYPE html>")
    requests(server, 1)


@case
def empty_body(run, server):
    run.fetch(server.url("empty")).failed("is empty")


def serve(server, body, run, *says):
    server.body = body
    run.fetch(server.url("good"), "--retries", 1).failed(*says)


@case
def gzip_garbage(run, server):
    serve(server, b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + random.Random(3).randbytes(5000), run, "west0067")
    requests(server, 1)


@case
def flipped_bit(run, server):
    spoilt = bytearray(BODY)
    spoilt[len(spoilt) // 2] ^= 16
    serve(server, bytes(spoilt), run, "west0067")


@case
def wrong_checksum(run, server):
    serve(server, BODY[:-8] + bytes(4) + BODY[-4:], run, "west0067")


@case
def something_behind_the_archive(run, server):
    serve(server, BODY + b"and more", run, "west0067")


@case
def gzip_of_no_archive(run, server):
    serve(server, gzip.compress(b"hello" * 1000), run, "is no tar archive")


@case
def gzip_of_nothing(run, server):
    serve(server, gzip.compress(b""), run, "is no tar archive")


@case
def another_matrix(run, server):
    serve(server, archive(1, name="HB/west0132"), run, "is another archive", "'west0067/west0067.mtx'",
          "'west0132/west0132.mtx'")


@case
def no_matrix(run, server):
    serve(server, archive(1, member="{0}/{0}.txt"), run, "is another archive")


@case
def damaged_header(run, server):
    serve(server, archive(1, sizes="67 x 294"), run, "west0067")


# Name, what the file's header says, and whether that can be the catalogue's matrix.
SIZES = [
    (MATRIX, "real general", "67 67 293", False), (MATRIX, "real general", "67 67 295", False),
    (MATRIX, "real general", "66 67 294", False), (MATRIX, "real general", "67 68 294", False),
    (MATRIX, "integer general", "67 67 294", True),
    (MATRIX, "real symmetric", "67 67 147", True), (MATRIX, "real symmetric", "67 67 180", True),
    (MATRIX, "real symmetric", "67 67 146", False), (MATRIX, "real symmetric", "67 67 181", False),
    ("HB/bcspwr01", "pattern symmetric", "39 39 85", True),  # 131 entries, 39 of them on the diagonal
    ("HB/ash219", "pattern general", "219 85 438", True),
    ("HB/west2021", "real general", "2021 2021 7310", True),  # 43 more zeros, stored or not
    ("HB/west2021", "real general", "2021 2021 7353", True), ("HB/west2021", "real general", "2021 2021 7354", False),
    ("HB/plsk1919", "real skew-symmetric", "1919 1919 4831", True),
    ("HB/plsk1919", "real skew-symmetric", "1919 1919 4832", False),
    ("Bai/mhd1280b", "complex hermitian", "1280 1280 12029", True),  # 22778 entries, 1280 on the diagonal
    ("HB/young1c", "complex general", "841 841 4089", True),
]


@case
def sizes_of_the_catalogue(run, server):
    for name, header, sizes, good in SIZES:
        server.body = archive(1, 1000, name, header, sizes)
        run.fetch(server.url("good"), name=name)
        assert run.code == (0 if good else 1), f"{name} {header} {sizes}: {run.err}"
        if not good:
            assert sizes.split()[2] in run.err and "by the catalogue" in run.err, run.err
            if WITH_CRYPTO:  # content with a given checksum need not agree with the catalogue
                run.fetch(server.url("good"), "--sha256", sha256(server.body), name=name)
                assert run.code == 0, run.err
        shutil.rmtree(run.cache / name.split("/")[0])


@case
def what_is_cached_can_be_read(run, server):
    run.fetch(server.url("good")).has(BODY)
    done = subprocess.run([run.program, "info", run.target, "--json"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    matrix = json.loads(done.stdout)["matrix"]
    assert (matrix["rows"], matrix["cols"], matrix["nnz"]) == (67, 67, 294), matrix


@case
def bomb(run, server):
    head = tarfile.TarInfo("west0067/west0067.mtx")
    head.size = 200_000_000
    plain = head.tobuf(tarfile.USTAR_FORMAT) + bytes(head.size)
    serve(server, gzip.compress(plain, 9), run, "west0067")


# --- Going on after a break -----------------------------------------------------------------------------------------

@case
def reset_and_resumed(run, server):
    run.fetch(server.url("reset")).has(BODY).noted("attempt 1 failed")
    half = len(BODY) // 2
    assert requests(server, 2)[1]["range"] == f"bytes={half}-", server.requests
    assert server.requests[1]["if_range"] == '"old"'
    assert f"resumed at byte {half:,}" in run.out, run.out


@case
def reset_and_resumed_by_date(run, server):
    run.fetch(server.url("reset_date_only")).has(BODY)
    assert requests(server, 2)[1]["if_range"].endswith("GMT"), server.requests


@case
def weak_etags_promise_nothing(run, server):
    run.fetch(server.url("reset_weak_etag")).has(BODY)
    assert requests(server, 2)[1]["range"] is None


@case
def attempts_that_get_ahead_are_free(run, server):
    server.body = archive(5, 10 << 20)
    run.fetch(server.url("reset_often"), "--retries", 1).has(server.body)
    assert len(server.requests) == 7, server.requests


@case
def range_ignored(run, server):
    run.fetch(server.url("ignores_range")).has(BODY)
    assert requests(server, 2)[1]["range"] is not None
    assert "resumed" not in run.out, run.out


@case
def changed_meanwhile(run, server):
    run.fetch(server.url("changed")).has(OTHER)
    requests(server, 2)


@case
def changed_and_if_range_ignored(run, server):
    run.fetch(server.url("changed_ignores_if_range")).has(OTHER).noted("another file")
    assert [asked["range"] is None for asked in requests(server, 3)] == [True, False, True]


@case
def changed_in_silence(run, server):
    """Halves of two files: gzip's checksum shows it, and the whole is loaded again."""
    run.fetch(server.url("changed_in_silence")).has(OTHER)
    assert [asked["range"] is None for asked in requests(server, 3)] == [True, False, True]


@case
def rest_from_elsewhere(run, server):
    run.fetch(server.url("rest_from_elsewhere")).has(BODY).noted("elsewhere")
    requests(server, 3)


@case
def rest_that_nobody_asked_for(run, server):
    run.fetch(server.url("rest_unasked")).has(BODY)
    requests(server, 2)


@case
def range_not_satisfiable(run, server):
    run.fetch(server.url("not_satisfiable")).has(BODY).noted("416")
    requests(server, 3)


@case
def killed_and_resumed(run, server):
    words, clean = run.command(MATRIX, "--cache", run.cache, "--url", server.url("stalls_once"))
    with subprocess.Popen(words, env=clean, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as victim:
        assert server.half_sent.wait(30)
        part = run.target.parent / "west0067.tar.gz.part"
        deadline = time.monotonic() + 30
        while not (part.exists() and part.stat().st_size == len(BODY) // 2) and time.monotonic() < deadline:
            time.sleep(0.02)
        victim.send_signal(signal.SIGKILL)
    assert run.files() == [".lock", *PARTIAL], run.files()
    run.fetch(server.url("stalls_once")).has(BODY)
    half = len(BODY) // 2
    assert requests(server, 2)[1]["range"] == f"bytes={half}-", server.requests
    assert f"resumed at byte {half:,}" in run.out, run.out


def leave_partial(run, server, url, part=None, validator='"old"', total=None, end="end"):
    folder = run.target.parent
    folder.mkdir(parents=True)
    part = BODY[:100_000] if part is None else part
    (folder / "west0067.tar.gz.part").write_bytes(part)
    (folder / "west0067.tar.gz.resume").write_text(
        f"{url}/MM/HB/west0067.tar.gz\n{validator}\n{len(BODY) if total is None else total}\n{end}\n")


@case
def killed_before_it_was_renamed(run, server):
    leave_partial(run, server, server.url("good"), part=BODY)
    run.fetch(server.url("good")).has(BODY)
    requests(server, 0)


@case
def partial_file_of_another_server(run, server):
    leave_partial(run, server, "http://elsewhere")
    run.fetch(server.url("good")).has(BODY)
    assert requests(server, 1)[0]["range"] is None


@case
def partial_file_with_half_a_note(run, server):
    leave_partial(run, server, server.url("good"), end="")
    run.fetch(server.url("good")).has(BODY)
    assert requests(server, 1)[0]["range"] is None


@case
def partial_file_that_is_too_long(run, server):
    leave_partial(run, server, server.url("good"), part=BODY + BODY)
    run.fetch(server.url("good")).has(BODY)
    assert requests(server, 1)[0]["range"] is None


@case
def partial_file_of_other_bytes(run, server):
    leave_partial(run, server, server.url("good"), part=bytes(100_000))
    run.fetch(server.url("good")).has(BODY)
    assert [asked["range"] is None for asked in requests(server, 2)] == [False, True]


@case
def whole_partial_file_of_other_bytes(run, server):
    leave_partial(run, server, server.url("good"), part=bytes(len(BODY)))
    run.fetch(server.url("good")).has(BODY)
    requests(server, 1)


@case
def three_at_once(run, server):
    words, clean = run.command(MATRIX, "--cache", run.cache, "--url", server.url("slow"), "--json")
    all_three = [subprocess.Popen(words, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                 for _ in range(3)]
    told = []
    for process in all_three:
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
        told.append(json.loads(out))
    assert sorted(one["from_cache"] for one in told) == [False, True, True], told
    requests(server, 1)
    run.fetch("http://127.0.0.1:9").has(BODY)


@case
def a_lock_left_behind_is_no_lock(run, server):
    run.target.parent.mkdir(parents=True)
    (run.target.parent / "west0067.tar.gz.lock").write_text("")
    run.fetch(server.url("good")).has(BODY)


# --- Checksums and the cache ----------------------------------------------------------------------------------------

@case
def demanded_checksum(run, server):
    if not WITH_CRYPTO:
        run.fetch(server.url("good"), "--sha256", sha256(BODY)).failed("libcrypto")
        return
    run.fetch(server.url("good"), "--sha256", sha256(OTHER)).failed(sha256(BODY), "demanded", sha256(OTHER))
    told = json.loads(run.fetch(server.url("good"), "--sha256", sha256(OTHER), "--json").out)
    assert told["error"]["code"] == "checksum_mismatch", told
    run.fetch(server.url("good"), "--sha256", sha256(BODY).upper()).has(BODY)
    run.fetch("http://127.0.0.1:9", "--sha256", sha256(BODY)).has(BODY)
    run.fetch("http://127.0.0.1:9", "--sha256", sha256(OTHER)).failed("demanded", files=(".archive", ".sha256"))
    for wrong in ("12", "g" * 64):
        run.fetch(server.url("good"), "--sha256", wrong).failed(wrong, files=(".archive", ".sha256"))


@case
def another_file_than_the_first_time(run, server):
    if not WITH_CRYPTO:
        return "no libcrypto"
    run.fetch(server.url("good")).has(BODY)
    server.body = OTHER
    run.fetch(server.url("good"), "--again").failed(sha256(OTHER), sha256(BODY), ".sha256",
                                                    files=(".archive", ".sha256"))
    assert run.target.read_bytes() == BODY, "the good file stays"
    (run.target.parent / "west0067.tar.gz.sha256").unlink()
    run.fetch(server.url("good"), "--again").has(OTHER)


@case
def again(run, server):
    run.fetch(server.url("good")).has(BODY)
    run.fetch(server.url("good"), "--again").has(BODY)
    requests(server, 2)


@case
def again_without_a_server_keeps_what_is_there(run, server):
    run.fetch(server.url("good")).has(BODY)
    run.fetch(server.url("status/404"), "--again").failed("404", files=tuple(run.files()))
    run.fetch("http://127.0.0.1:9").has(BODY)


@case
def changed_in_the_cache(run, server):
    if not WITH_CRYPTO:
        return "no libcrypto"
    run.fetch(server.url("good")).has(BODY)
    run.target.write_bytes(OTHER)
    run.fetch("http://127.0.0.1:9").failed("changed in the cache", "--again", files=(".archive", ".sha256"))
    run.fetch(server.url("good"), "--again").has(BODY)


@case
def spoilt_record(run, server):
    if not WITH_CRYPTO:
        return "no libcrypto"
    run.fetch(server.url("good")).has(BODY)
    (run.target.parent / "west0067.tar.gz.sha256").write_text("0" * 63)
    run.fetch("http://127.0.0.1:9").failed("sha256:1: ", files=(".archive", ".sha256"))


@case
def put_there_by_hand(run, server):
    run.target.parent.mkdir(parents=True)
    run.target.write_bytes(BODY)
    run.fetch("http://127.0.0.1:9").has(BODY)


@case
def half_put_there_by_hand(run, server):
    run.target.parent.mkdir(parents=True)
    run.target.write_bytes(BODY[:-1000])
    run.fetch("http://127.0.0.1:9").failed("west0067.tar.gz", files=(".archive", ))


@case
def cache_that_cannot_be_made(run, server):
    (run.cache / "HB").write_text("a file")
    run.fetch(server.url("good"))
    assert run.code == 1 and "cannot be made" in run.err, run.err
    requests(server, 0)


# --- The command line -----------------------------------------------------------------------------------------------

@case
def other_protocols(run, server):
    for url in ("file:///etc", "ftp://127.0.0.1", "127.0.0.1", "http://127.0.0.1/a b", "http://x/\nend"):
        run.fetch(url).failed("url = ")


@case
def names_that_mean_none_or_several(run, server):
    run.fetch(server.url("good"), name="no-such-matrix").failed("no-such-matrix")
    run.fetch(server.url("good"), name="barth").failed("Nasa/barth", "Pothen/barth")
    run.fetch(server.url("good"), name="../../x").failed("no such matrix")
    requests(server, 0)


@case
def numbers_that_make_no_sense(run, server):
    for wrong in (("--retries", -1), ("--timeout", 0), ("--max-bytes", -1), ("--retry-delay", -1), ("--spd", )):
        run.fetch(server.url("good"), *wrong)
        assert run.code == 2, (wrong, run.err)
    run.fetch(server.url("good"), "--timeout", 1e30).failed("timeout_seconds")
    requests(server, 0)


def catalogue(run, *arguments):
    words, clean = run.command("--list", *arguments, "--cache", run.cache, "--json")
    done = subprocess.run(words, env=clean, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    told = json.loads(done.stdout)
    assert "Davis" in told["attribution"]
    return told["matrices"]


@case
def listed(run, server):
    assert len(catalogue(run)) == 2904
    assert len(catalogue(run, "--spd")) == 240 and len(catalogue(run, "--not-spd")) == 2664
    cages = catalogue(run, "cage1[0-2]")
    assert [one["name"] for one in cages] == ["vanHeukelum/cage10", "vanHeukelum/cage11", "vanHeukelum/cage12"]
    some = catalogue(run, "HB/*", "--kind", "structural", "--min-rows", "4000", "--max-rows", "5000", "--min-nnz",
                     "100000", "--max-nnz", "300000", "--symmetry", "symmetric", "--field", "real", "--min-cols", "1",
                     "--max-cols", "5000")
    assert "HB/bcsstk16" in [one["name"] for one in some] and all(4000 <= one["rows"] <= 5000 for one in some), some
    assert catalogue(run, "no-such") == []
    run.fetch(server.url("good"))
    here = catalogue(run, "west0067")[0]
    assert here["cached"] == str(run.target), here
    assert catalogue(run, "west0132")[0]["cached"] is None
    words, clean = run.command("--list", "west0067", "--cache", run.cache)
    text = subprocess.run(words, env=clean, capture_output=True, text=True, timeout=100).stdout
    assert "HB/west0067" in text and "1 of 2904 matrices" in text and "CC-BY-4.0" in text, text


def cannot_fetch(program: str) -> int:
    """A build without libcurl or libarchive says so, and uses what is in the cache all the same."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(program, pathlib.Path(folder))
        run.fetch("http://127.0.0.1:9").failed("not in the cache", "built without lib")
        assert len(catalogue(run)) == 2904
        run.target.parent.mkdir(parents=True, exist_ok=True)
        run.target.write_bytes(BODY)
        if WITH_CRYPTO:
            record = run.target.parent / "west0067.tar.gz.sha256"
            record.write_text(f"{sha256(BODY)}  west0067.tar.gz\n")
            run.fetch("http://127.0.0.1:9").has(BODY)
    print("1 case")
    return 0


def run_case(program: str, name: str) -> tuple[str, str, str]:
    """("ok" | "FAILED" | "skipped", name, why)."""
    with tempfile.TemporaryDirectory(prefix="bcsc-fetch-") as folder, BadServer(BODY, OTHER) as server:
        run = Run(program, pathlib.Path(folder))
        try:
            reason = CASES[name](run, server)
        except Exception:  # an assertion, a program that hangs: all are failures of this case
            return "FAILED", name, f"{traceback.format_exc()}\nstdout: {run.out}\nstderr: {run.err}"
        return ("skipped", name, reason) if reason else ("ok", name, "")


def main() -> int:
    global WITH_CRYPTO
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--cannot-fetch", action="store_true")
    parser.add_argument("--without-crypto", action="store_true")
    parser.add_argument("--only", action="append")
    arguments = parser.parse_args()
    WITH_CRYPTO = not arguments.without_crypto
    if arguments.cannot_fetch:
        return cannot_fetch(arguments.program)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda name: run_case(arguments.program, name), arguments.only or CASES))
    for verdict, name, why in results:
        print(f"{verdict}: {name}" + (f": {why}" if why else ""))
    counts = {verdict: sum(one[0] == verdict for one in results) for verdict in ("ok", "FAILED", "skipped")}
    print(counts)
    return 1 if counts["FAILED"] or not counts["ok"] else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
