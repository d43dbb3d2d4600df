"""`headgate serve`: one engine that people share over HTTP."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli import options
from headgate.cli import serve_access as access
from headgate.cli.background import Background
from headgate.cli.console import examples, note
from headgate.cli.number_format import read_duration
from headgate.cli.run import File, PolicyOption, Workers
from headgate.cli.signals import Interruption, exit_code, noted
from headgate.model.number_text import duration
from headgate.plan.fusion import Fuse

if TYPE_CHECKING:
    from headgate.server.hosting import EngineHost

EXAMPLES = examples(
    "serve --data out/shared",
    "serve examples/plant.toml --bind 127.0.0.1:8440",
    "serve --data out/shared --bind 0.0.0.0:8440 --tls-cert server.pem --tls-key server.key",
    'serve --data /data/shared --policy "express" --master spark://host:7077',
)
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Where everything is kept; out/NAME or out/server if not given.",
        show_default=False,
        metavar="DIR",
    ),
]
Bind = Annotated[str, typer.Option("--bind", help="Address and port to listen at.", metavar="HOST:PORT")]
Master = Annotated[str, typer.Option("--master", help="Which Spark: this machine, or a cluster.", metavar="URL")]
Drain = Annotated[
    str, typer.Option("--drain", help="How long runs under way get to end when the server stops.", metavar="TIME")
]
For = Annotated[str | None, typer.Option("--for", help="Stop after this long.", show_default=False, metavar="TIME")]


def serve(
    file: File = None,
    data: Data = None,
    bind: Bind = "127.0.0.1:8440",
    policy: PolicyOption = None,
    workers: Workers = 2,
    fuse: options.FuseOption = None,
    master: Master = "local[*]",
    drain: Drain = "10 s",
    lasting: For = None,
    tls_cert: access.Certificate = None,
    tls_key: access.Key = None,
    insecure: access.Insecure = False,
    allow_host: access.AllowHost = None,
    proxy: access.Proxy = None,
    allow_path: access.AllowPath = None,
    allow_connect: access.AllowConnect = None,
    allow_table: access.AllowTable = None,
) -> None:
    """Serve one engine over HTTP: streams, queries, results, what waits and why, under /v1.

    It starts empty, from a workload file, or where its directory stopped, and answers while Spark starts. Ctrl-C or
    SIGTERM stops it: runs under way get some seconds, and nothing that was acknowledged is lost. A second Ctrl-C ends
    it at once.

    On this machine's own address it is open to everybody here until a token is added: headgate token add. On any other
    it needs tokens and TLS. What it may use of this machine over the network is named by the options --allow-….
    """
    from headgate.server.access.tenants import TenantFile
    from headgate.server.app import create_app
    from headgate.server.hosting import EngineHost
    from headgate.server.opening import EngineSettings
    from headgate.server.row_watch import RowWatch
    from headgate.server.serving import Server
    from headgate.server.settings import Address, Limits, check_proxies
    from headgate.server.workspace.quotas import Quotas
    from headgate.spark import arguments
    from headgate.spark.store.directory import check_directory

    address = Address.parse(bind)
    patience = read_duration(drain, "--drain")
    limit = None if lasting is None else read_duration(lasting, "--for")
    arguments.workers(workers, "--workers")
    if policy is not None:
        options.check_policies([policy])
    workload = None if file is None else options.load(file, fuse=fuse)
    place = data or Path("out") / ("server" if workload is None else workload.name)
    check_directory(place)
    scope = None if fuse is None else options.choice(Fuse, fuse, "value for --fuse")
    settings = EngineSettings(place, workload, arguments.master(master, place), policy, workers, scope)
    host = EngineHost(settings.opener())
    quotas = Quotas(TenantFile(place).limits)
    resources = access.resources(allow_path, allow_connect, allow_table)
    tls = access.tls(tls_cert, tls_key)
    door = access.door(place, address, tls, insecure, allow_host)
    app = create_app(host, door.access, quotas, resources)
    server = Server(app, address, Limits(), tls, allow_host or (), check_proxies(proxy or ()))
    with noted() as interruption, RowWatch(host, quotas):
        url = server.address.url("http" if tls is None else "https")
        note(f"serving at {url}, data in {place}: Ctrl-C stops it")
        for line in door.lines:
            note(line)
        note(f"open {url} in a browser, or try: headgate --server {url} status; Spark takes some seconds to start")
        host.start()
        began = time.monotonic()
        watched = _Watched(host, began)

        def over() -> bool:
            watched.tell()
            return _over(host, interruption, began, limit)

        server.run(over)
        _end(host, patience, place)
    if interruption:
        raise typer.Exit(exit_code())


class _Watched:
    """Says when the engine is ready."""

    def __init__(self, host: EngineHost, began: float) -> None:
        self._host, self._began, self._told = host, began, False

    def tell(self) -> None:
        if not self._told and self._host.wait(0) and self._host.error is None:
            note(f"ready after {duration(round(time.monotonic() - self._began, 1))}")
            self._told = True


def _over(host: EngineHost, interruption: Interruption, began: float, limit: float | None) -> bool:
    return bool(interruption) or host.error is not None or (limit is not None and time.monotonic() - began >= limit)


def _end(host: EngineHost, patience: float, place: Path) -> None:
    """Close the engine, and say what waits."""
    if host.error is not None:
        raise host.error
    closing = Background(lambda: host.close(patience))
    if not closing.ended(0.5):
        note("ending: lets runs end and gives results to their sinks; Ctrl-C once more ends it at once")
    closing.result()
    waiting = 0 if host.final is None else sum(line.waiting for line in host.final.queries)
    left = f"{waiting:,} {'tuple waits' if waiting == 1 else 'tuples wait'} and will be done when it is started again"
    again = f"headgate serve --data {shlex.quote(str(place))}"
    note(f"stopped; {left if waiting else 'nothing waits'}; {again} goes on there")
