"""A `pinwise serve` on copies of a recorded case, for the scripts that try it out."""
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURE = ROOT / "fixtures" / "cases" / "receive-work-on-cpu-1"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
# How long the server may take to start, and to end, s.
PATIENCE_S = 30


def fail(what, cause, remedy):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {what}: {cause} - {remedy}")


def pinwise_of(arguments):
    """The program: the first argument, or the one that was built last."""
    built = [TARGET / profile / "pinwise" for profile in ("quick", "release", "debug")]
    there = sorted((path for path in built if path.is_file()), key=lambda path: path.stat().st_mtime)
    pinwise = pathlib.Path(arguments[0]).resolve() if arguments else there[-1] if there else built[0]
    if not pinwise.is_file():
        fail(pinwise, "there is no such file", "cargo build --profile quick --package pinwise, or name the program as the first argument")
    return pinwise


def case(folder, with_proofs=True):
    """A copy of the recorded case. Without its proofs the plan of it is one setting: the CPUs of its server."""
    shutil.copytree(FIXTURE, folder)
    if not with_proofs:
        (folder / "proofs.json").unlink()


class Served:
    """The server: a free port, a folder of cases and a ledger of its own. All of it is gone when the block is left."""

    def __init__(self, pinwise, cases, flags=(), with_proofs=True):
        self.pinwise, self.cases, self.flags, self.with_proofs = pinwise, cases, flags, with_proofs

    def __enter__(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="pinwise-served-"))
        self.environment = dict(os.environ, PINWISE_STATE_DIR=str(self.place / "state"))
        (self.place / "cases").mkdir()
        for name in self.cases:
            case(self.place / "cases" / name, self.with_proofs)
        self.said = open(self.place / "said", "w+")
        command = [self.pinwise, "serve", self.place / "cases", "--listen", "127.0.0.1:0", *self.flags]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.said, env=self.environment, text=True
        )
        try:
            self.url = self.first_line()
        except BaseException:
            self.tidy()
            raise
        self.token = self.url.split("#token=")[1]
        self.port = int(re.search(r":(\d+)/", self.url).group(1))
        return self

    def first_line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        line = self.process.stdout.readline().strip() if ready else ""
        if not re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[0-9a-f]+", line):
            fail("pinwise serve", f"it printed '{line}' and not its address: {self.words()}", "see docs/serve.md")
        return line

    def words(self):
        """What it has said on stderr."""
        return (self.place / "said").read_text()

    def end(self):
        """Asks it to end, and answers how it did; None where it does not."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return None

    def undo(self):
        """Takes back what a failed try has left, by the ledger of this server."""
        subprocess.run([self.pinwise, "undo"], env=self.environment, capture_output=True, timeout=60)

    def tidy(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.said.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def __exit__(self, *_):
        self.tidy()


def wait_for(what, is_so, patience_s=PATIENCE_S):
    """Waits until something holds, and answers it."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        found = is_so()
        if found:
            return found
        time.sleep(0.1)
    fail(what, f"it did not come in {patience_s} s", "see above")
