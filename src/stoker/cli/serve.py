"""Show manifests on the status page, and keep up with them while you edit.

  stoker serve example/                          the page at http://127.0.0.1:8095/
  stoker serve deploy/ --open                    and a browser that shows it
  stoker serve deploy/ --address 127.0.0.1:9000  elsewhere

It is the page that the operator serves, made of files: each workload with what it selects and
rejects, each resource with who scrapes it or why nobody does, and the configurations, without the
values of Secrets. No cluster is needed, and nothing is written. A file that is saved shows a moment
later; one that cannot be read keeps what it held before, and the page says so.

An operator that was started with flags is described by --flag, which may be repeated:

  stoker serve deploy/ --flag namespaces=shop,monitoring

Exit status: 0 when it is ended with Ctrl-C, 2 if it cannot be served or the command was not
understood.
"""

import argparse
import os
from typing import TYPE_CHECKING

from stoker.cli.busy import READING, busy
from stoker.cli.options import exclude_argument, flag_arguments, flag_settings
from stoker.cli.terminal import failed, harmless

if TYPE_CHECKING:
    from stoker.settings import OperatorSettings

_NAME = "serve"
_ADDRESS = "127.0.0.1:8095"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker serve`."""
    parser.add_argument(
        "path", metavar="DIR", nargs="?", help="a folder with manifests, or one file"
    )
    parser.add_argument("-f", dest="file", metavar="DIR", help="the same as DIR")
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        default=_ADDRESS,
        help=f"where the page is served; it has no login (default: {_ADDRESS})",
    )
    parser.add_argument(
        "--host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name that browsers may use for this machine, beside localhost; may be repeated",
    )
    exclude_argument(parser)
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    flag_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until told to stop; return the exit status."""
    import asyncio

    from stoker.cli.flag_values import address
    from stoker.errors import StokerError

    path = options.path or options.file
    if not path or not os.path.exists(path):
        return failed(_NAME, f"{path}: there is no such folder" if path else "name a folder")
    try:
        where = address(options.address)
        settings = flag_settings(options.flag, judging=True)
        asyncio.run(_serve(path, options, where, settings))
    except ValueError as error:
        return failed(_NAME, f"--address: {error}")
    except StokerError as error:
        return failed(_NAME, error)
    return 0


async def _serve(
    path: str, options: argparse.Namespace, where: tuple[str, int], settings: "OperatorSettings"
) -> None:
    import asyncio
    import signal
    import webbrowser

    from stoker import logs
    from stoker.errors import FieldError
    from stoker.offline.pages import DirectoryPages
    from stoker.web.door import OpenDoor
    from stoker.web.page import PageServer

    pages = DirectoryPages(path, settings, options.exclude)
    server = PageServer(OpenDoor(pages), where, options.host)
    try:
        await server.start()
    except FieldError as error:
        raise FieldError("", f"{error}; name another place with --address") from None
    logs.configure("warn", "logfmt")
    reading = asyncio.ensure_future(pages.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, reading.cancel)
    print(f"{harmless(path)} is shown at {server.url}; Ctrl-C ends it", flush=True)
    if options.open:
        await asyncio.to_thread(webbrowser.open, server.url)
    try:
        with busy(_NAME, READING):
            await pages.first_look(reading)
        await reading
    except asyncio.CancelledError:
        pass
    finally:
        await server.stop()
