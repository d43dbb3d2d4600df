"""Where a shell begins: Ctrl-C is answered before anything that takes a while is imported."""

from headgate.cli import signals


def run() -> None:
    """Run the command line."""
    signals.install()
    import io
    import sys

    from headgate.cli.main import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show ├─ gets ?, not a traceback
            stream.reconfigure(errors="replace")
    app()
