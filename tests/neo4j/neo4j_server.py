"""A real Neo4j for the tests, without Docker where a JDK and Maven are on the machine.

Order: a server that ``NEO4J_URI`` names; Neo4j Community from Maven's artifacts with the JDK here; testcontainers where
Docker answers; else none, with the reason. Jars and the compiled main are cached outside the tree.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

HERE = Path(__file__).parent
START_SECONDS = 120
MAVEN_TRIES = 3
COPY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

CONF = """\
server.default_listen_address=127.0.0.1
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:{port}
server.bolt.advertised_address=127.0.0.1:{port}
server.bolt.tls_level=DISABLED
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled={auth}
dbms.usage_report.enabled=false
server.memory.pagecache.size=128m
db.tx_log.preallocate=false
db.tx_log.rotation.size=16m
db.tx_log.rotation.retention_policy=keep_none
db.transaction.timeout=300s
"""

FLAGS = (
    "-Xms256m",
    "-Xmx1g",
    "-XX:TieredStopAtLevel=4",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dfile.encoding=UTF-8",
)


class NoServer(Exception):
    """No Neo4j can be had here; the message says what is missing."""


@dataclass(frozen=True)
class Line:
    """One line of Neo4j releases and the JDKs that run it (Operations Manual, requirements)."""

    version: str
    jdks: tuple[int, ...]
    flags: tuple[str, ...] = ()


LINES = (
    Line("5.26.29", (17, 21)),
    Line("2026.06.0", (25, 21), ("--enable-native-access=ALL-UNNAMED",)),
)


@dataclass(frozen=True)
class Jdk:
    home: Path
    major: int

    @property
    def java(self) -> Path:
        return self.home / "bin" / "java"

    @property
    def javac(self) -> Path:
        return self.home / "bin" / "javac"


def find_jdks() -> list[Jdk]:
    """JDKs with a compiler: JAVA_HOME, the one on PATH, and those in the usual folders."""
    homes: list[Path] = []
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    if javac := shutil.which("javac"):
        homes.append(Path(javac).resolve().parent.parent)
    for folder in ("/usr/lib/jvm", "/opt/java", "/Library/Java/JavaVirtualMachines"):
        homes.extend(sorted(Path(folder).glob("*")) if Path(folder).is_dir() else ())
    found: dict[Path, Jdk] = {}
    for home in homes:
        if (home / "Contents" / "Home").is_dir():
            home = home / "Contents" / "Home"
        if (home / "bin" / "javac").is_file() and (major := _major(home)):
            found.setdefault(home.resolve(), Jdk(home.resolve(), major))
    return list(found.values())


def _major(home: Path) -> int | None:
    try:
        text = (home / "release").read_text()
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith("JAVA_VERSION="):
            return int(line.split('"')[1].split(".")[0])
    return None


def choose() -> tuple[Line, Jdk]:
    """The release line and the JDK to run it on. ``CGX_TEST_NEO4J`` picks another release."""
    jdks = find_jdks()
    wanted = os.environ.get("CGX_TEST_NEO4J")
    lines = [line for line in LINES if wanted in (None, line.version)] or [Line(str(wanted), (17, 21, 25))]
    for line in lines:
        for major in line.jdks:
            for jdk in jdks:
                if jdk.major == major:
                    return line, jdk
    have = ", ".join(str(jdk.major) for jdk in jdks) or "none"
    raise NoServer(f"no JDK that Neo4j {lines[0].version} runs on (needs {lines[0].jdks[0]}; found: {have})")


def cache_folder() -> Path:
    return Path(platformdirs.user_cache_dir("cgx-tests", appauthor=False)) / "neo4j"


def jars(line: Line) -> Path:
    """The folder with the server's jars; resolved once by Maven."""
    folder = cache_folder() / line.version / "lib"
    done = folder / ".complete"
    if done.exists():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise NoServer("no Maven (mvn) to fetch Neo4j's artifacts with")
    command = [maven, "-q", "-B", "-f", str(HERE / "pom.xml"), f"-Dneo4j.version={line.version}", COPY_PLUGIN]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    for attempt in range(MAVEN_TRIES):
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
        if ran.returncode == 0:
            done.touch()
            return folder
        time.sleep(5 * attempt)
    raise NoServer("Maven could not resolve Neo4j: " + (ran.stdout + ran.stderr).strip()[-400:])


def compiled(line: Line, jdk: Jdk, lib: Path) -> Path:
    """The folder with the compiled main, keyed by its source and the JDK."""
    source = HERE / "TestServer.java"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    folder = cache_folder() / line.version / f"classes-{jdk.major}-{digest}"
    if not (folder / "TestServer.class").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(jdk.javac), "-cp", str(lib / "*"), "-d", str(folder), str(source)]
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if ran.returncode != 0:
            raise NoServer("the test server does not compile: " + ran.stderr.strip()[-400:])
    return folder


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def run_server(auth: bool = False) -> Iterator[str]:
    """Start a server of its own; yields its Bolt URL and stops it at the end."""
    line, jdk = choose()
    lib = jars(line)
    classes = compiled(line, jdk, lib)
    home = Path(tempfile.mkdtemp(prefix="cgx-neo4j-"))
    port = free_port()
    (home / "neo4j.conf").write_text(CONF.format(port=port, auth=str(auth).lower()))
    log = (home / "out.log").open("w+")
    command = [str(jdk.java), *FLAGS, *line.flags, "-cp", f"{classes}{os.pathsep}{lib / '*'}", "TestServer", str(home)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, cwd=home)
    try:
        _wait(process, home, port)
        yield f"bolt://127.0.0.1:{port}"
    finally:
        _stop(process)
        log.close()
        shutil.rmtree(home, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], home: Path, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while "READY" not in (home / "out.log").read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            tail = (home / "out.log").read_text(errors="replace")[-1500:]
            raise NoServer(f"Neo4j did not start: {tail}")
        time.sleep(0.1)
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise NoServer("Neo4j started but does not listen")


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    for stop in (lambda: None, process.terminate, process.kill):
        stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
            return


@contextlib.contextmanager
def run_container() -> Iterator[str]:
    """A server by testcontainers; NoServer where Docker does not answer."""
    try:
        import docker

        docker.from_env(timeout=5).ping()
    except Exception as error:
        raise NoServer(f"Docker does not answer ({type(error).__name__})") from error
    try:
        from testcontainers.community.neo4j import Neo4jContainer
    except ImportError:
        from testcontainers.neo4j import Neo4jContainer
    password = "cgx-tests-only"
    with Neo4jContainer("neo4j:5.26", username="neo4j", password=password) as container:
        os.environ["NEO4J_USERNAME"], os.environ["NEO4J_PASSWORD"] = "neo4j", password
        yield container.get_connection_url()
