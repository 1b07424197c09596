"""Connects to a Dask cluster, or starts one on this machine."""

from __future__ import annotations

import importlib
import logging
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from irloop.diagnostics import one_line
from irloop.errors import UsageError
from irloop.fleet.processes import METHOD, THREADS, prepare
from irloop.fleet.runner import Limits
from irloop.fleet.task import versions, warm

__all__ = ["BIG", "Cluster", "Remote", "Tls"]

#: A batch of big models uses this resource of a worker, so that each worker gets only one such
#: batch at a time.
BIG = "irloop-big"

#: Seconds between two attempts to connect.
PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificate files for connections to a scheduler."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def security(self) -> Any:
        """The settings object that Dask expects; None without certificates.

        Raises:
            UsageError: when some of the files are not given, or do not exist.
        """
        files = (self.ca, self.cert, self.key)
        if not any(files):
            return None
        if not all(files):
            raise UsageError("--tls-ca, --tls-cert and --tls-key belong together: give all three")
        for file in filter(None, files):
            if not os.path.isfile(file):
                raise UsageError(f"{file}: no such file")
        from distributed.security import Security

        return Security(
            tls_ca_file=self.ca,
            tls_client_cert=self.cert,
            tls_client_key=self.key,
            require_encryption=True,
        )


@dataclass(frozen=True, slots=True)
class Remote:
    """A scheduler that is already running.

    `patience` is how many seconds to wait for the scheduler, and for its first worker.
    """

    address: str
    tls: Tls
    patience: float = 120.0


class Cluster:
    """A connection to a cluster; `reconnect` replaces a connection that was lost."""

    def __init__(self, remote: Remote | None, workers: int) -> None:
        """Connect to the scheduler `remote`, or start a cluster on this machine.

        Args:
            remote: the scheduler; None means to start one, and `workers` processes, on this
                machine.
            workers: the number of processes to start; only used if `remote` is None.

        Raises:
            UsageError: when there is no scheduler or no worker.
        """
        self._remote = remote
        self._own: Any = None
        if remote is None:
            self._own = _local(workers)
        _silence()
        self.client = self._connected()
        self.versions = self._versions()
        known = self.client.scheduler_info(n_workers=-1)["workers"].values()
        self.marks_big = all(BIG in worker.get("resources", {}) for worker in known)

    @property
    def is_connected(self) -> bool:
        """Return whether the connection to the scheduler is not known to be lost."""
        return bool(self.client.status == "running")

    def reconnect(self) -> None:
        """Connect again; all tasks of the old connection are lost.

        Raises:
            UsageError: when the scheduler does not come back in time.
        """
        with suppress(Exception):
            self.client.close(timeout=2)
        self.client = self._connected()

    def threads(self) -> int:
        """The number of tasks that all workers together run at a time."""
        with suppress(Exception):
            return sum(self.client.ncores().values())
        return 0

    def warm(self, limits: Limits, steps: Sequence[str]) -> None:
        """Tell each worker to start a child process, before the first batch arrives.

        Each child process gets `limits` and imports the modules of `steps`. The method returns at
        once.
        """
        # A worker that is lost now gets no batch, and the others start their child in time.
        with suppress(Exception):
            self.client.run(warm, limits, steps, wait=False)

    def close(self) -> None:
        """Disconnect from the cluster; stop it if it was started here."""
        with suppress(Exception):
            self.client.close(timeout=10)
        if self._own is not None:
            with suppress(Exception):
                self._own.close(timeout=10)

    def _connected(self) -> Any:
        from distributed import Client

        if self._own is not None:
            # Results can go directly to this process, because it is the scheduler.
            return Client(self._own, set_as_default=False, direct_to_workers=True)
        assert self._remote is not None
        remote = self._remote
        security = remote.tls.security()
        if security is None and remote.address.startswith("tls://"):
            raise UsageError(
                "a scheduler at tls:// needs certificates",
                fix="give --tls-ca, --tls-cert and --tls-key",
            )
        end = time.monotonic() + remote.patience
        while True:
            left = end - time.monotonic()
            try:
                client = Client(
                    remote.address, security=security, timeout=max(1.0, left), set_as_default=False
                )
                client.wait_for_workers(1, timeout=max(1.0, end - time.monotonic()))
            except (OSError, TimeoutError, ValueError, RuntimeError) as error:
                if time.monotonic() < end and isinstance(error, OSError | TimeoutError):
                    time.sleep(PAUSE)
                    continue
                raise UsageError(
                    f"no cluster at {remote.address}: {type(error).__name__}",
                    found=one_line(str(error)[:200]),
                    cause="there is no scheduler at this address, it has no workers, or the "
                    "certificates do not fit",
                    fix="start 'dask scheduler' and 'dask worker', then repeat the command: it "
                    "continues where it stopped",
                ) from error
            return client

    def _versions(self) -> tuple[tuple[str, str], ...]:
        """Return the versions of packages on the workers.

        Raises:
            UsageError: when the workers cannot run irloop, have different versions, or have another
                version of irloop than this process.
        """
        try:
            installed = self.client.run(versions)
        except Exception as error:
            raise UsageError(
                f"the workers cannot run irloop: {type(error).__name__}",
                fix="install irloop with its extra 'fleet' on each of them",
            ) from error
        different = set(installed.values())
        if len(different) > 1:
            texts = sorted(
                ", ".join(f"{a} {b or 'missing'}" for a, b in item) for item in different
            )
            raise UsageError(
                "the workers have different versions of packages",
                found="; or ".join(texts),
                fix="install the same packages on all of them",
            )
        first: tuple[tuple[str, str], ...] = tuple(tuple(item) for item in next(iter(different)))
        here, there = (dict(found)["irloop"] for found in (versions(), first))
        if here != there:
            # The command and the workers exchange objects of irloop, so the versions must agree.
            raise UsageError(
                "the workers have another version of irloop than this command",
                expected=f"irloop {here}",
                found=f"irloop {there or 'missing'}",
                fix="install the same version here and on all workers",
            )
        return first


def _silence() -> None:
    """Switch off Dask's log: lost connections are expected, and irloop has messages for them."""
    # Import distributed first, because the import sets the levels of single loggers, such as
    # distributed.client.
    importlib.import_module("distributed")
    for name in ("asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "asyncio", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _local(workers: int) -> Any:
    """Start a dask cluster on this machine, and return it.

    The scheduler runs in this process and the `workers` in processes of their own. Only this user
    can connect to them.
    """
    prepare()
    import dask

    dask.config.set(
        {
            "distributed.worker.multiprocessing-method": METHOD,
            "distributed.nanny.environ": THREADS,
            # Dask serves its status pages without asking for a certificate, so they are switched
            # off.
            "distributed.scheduler.http.routes": [],
            "distributed.worker.http.routes": [],
            # A batch takes only seconds, so profiles of the workers are of no use.
            "distributed.worker.profile.enabled": False,
            "distributed.worker.profile.interval": "1s",
            "distributed.admin.system-monitor.interval": "5s",
            "distributed.admin.system-monitor.gil.enabled": False,
            "distributed.admin.tick.interval": "1s",
        }
    )
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        protocol="tls://",
        security=_temporary(),
        dashboard_address="127.0.0.1:0",
        # Models run in child processes, which have their own limits.
        memory_limit=0,
        resources={BIG: 1},
        silence_logs=logging.CRITICAL,
    )


def _temporary() -> Any:
    """Create a key and a certificate that exist only in the memory of this sweep's processes.

    Dask's own function (`Security.temporary`) uses RSA keys: making a key takes 0.1 s or more, and
    every connection takes some milliseconds. Keys of elliptic curves take less than a millisecond.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from distributed.security import Security

    key = ec.generate_private_key(ec.SECP256R1())
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "irloop-sweep")])
    now = datetime.now(UTC)
    public = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
        .decode()
    )
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=public,
        **{f"tls_{role}_key": secret for role in roles},
        **{f"tls_{role}_cert": public for role in roles},
    )
