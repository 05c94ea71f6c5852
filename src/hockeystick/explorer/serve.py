"""The server of the page: on the loopback interface alone, in a thread, until it is closed."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from html import escape
from typing import TYPE_CHECKING

from hockeystick.values.domains import shown, whole
from hockeystick.values.errors import HockeystickError, InvalidInputError
from hockeystick.values.needed import need

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

LOOPBACK = "127.0.0.1"
"""The one address that is listened on: no other machine reaches it."""

PORT = 8417
"""The port where none is named: of no well-known service, and the same in every run, so that links keep working."""

LARGEST_PORT = 65_535  # of the 16 bits that a port has
KEY_BYTES = 24  # of randomness in the secret of a run: more than can be tried
PATIENCE = 10.0  # seconds that a server may take to start
POLL = 0.01  # seconds between two looks at whether it has
FAREWELL = 2  # seconds that open requests have when the server is closed


class Explorer:
    """A page that is being served; :func:`explore` makes one.

    Attributes:
        address: ``http://127.0.0.1:PORT/``; whoever opens it needs the key.
        url: the address with the key of this run, for a browser on this machine.
    """

    def __init__(self, plan: Plan | None, name: str, port: int | None) -> None:
        need_server()
        import uvicorn

        from hockeystick.explorer.app import application
        from hockeystick.explorer.given import Given
        from hockeystick.explorer.lanes import Lanes

        given = None if plan is None else Given(plan, name)
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        self._key, self._once = (secrets.token_urlsafe(KEY_BYTES) for _ in range(2))
        self._lanes = Lanes()
        app = application(given, self.port, self._key, self._once, self._lanes)
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=FAREWELL,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="hockeystick-explore", daemon=True
        )
        self._thread.start()
        end = time.monotonic() + PATIENCE
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                self.close()
                raise HockeystickError(f"the server did not start on {LOOPBACK}:{self.port}")
            time.sleep(POLL)

    @property
    def address(self) -> str:
        """Where the page is; a link with its state is this and ``#`` and the state."""
        return f"http://{LOOPBACK}:{self.port}/"

    @property
    def url(self) -> str:
        """The address with the key of this run, which a browser gives back as a cookie from then on."""
        return f"{self.address}?key={self._key}"

    def open(self) -> None:
        """Open the page in the browser, by a key that opens it once; :attr:`url` opens it again."""
        import webbrowser

        webbrowser.open(f"{self.address}?key={self._once}")

    def __repr__(self) -> str:
        return f"<Explorer at {self.url}>" if self._thread.is_alive() else "<Explorer, closed>"

    def _repr_html_(self) -> str:
        """The link to the page, as notebooks show it."""
        return f'<a href="{escape(self.url)}" target="_blank" rel="noopener">{escape(self.address)}</a>'

    def wait(self) -> None:
        """Serve until somebody interrupts."""
        while self._thread.is_alive():
            self._thread.join(1.0)

    def close(self) -> None:
        """Stop serving; closing twice does nothing."""
        self._server.should_exit = True
        self._lanes.close()
        self._thread.join(2 * FAREWELL)
        self._socket.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def explore(plan: Plan | None = None, *, port: int | None = None, browser: bool = True, name: str = "") -> Explorer:
    """Serve the page of live curves on this machine, and open it in the browser.

    Args:
        plan: what the page begins with; an example of DP-SGD by default.
        port: on which it listens, on the loopback interface alone; 0 is any free one. By default 8417, or any free one
            where that is taken.
        browser: whether to open it.
        name: what the page calls the plan.

    Returns:
        The server, which runs in a thread until it is closed or the program ends.

    Raises:
        HockeystickError: starlette or uvicorn is missing, or the port is taken.
        InvalidInputError: what is no plan or no port.
    """
    from hockeystick.plan.plan import Plan

    if plan is not None and not isinstance(plan, Plan):
        raise InvalidInputError(f"explore takes a Plan; received {shown(plan)}", "plan")
    if port is not None:
        port = whole(port, "port", "0 is any free one", most=LARGEST_PORT)
    served = Explorer(plan, name, port)
    if browser:
        served.open()
    return served


def need_server() -> None:
    """Refuse where the server is missing, before anything is computed.

    Raises:
        HockeystickError: it is.
    """
    need("the page", {"starlette": "starlette", "uvicorn": "uvicorn"}, "explore")


def _listening(port: int | None) -> socket.socket:
    """A socket that is bound to the loopback interface.

    Raises:
        HockeystickError: the port is taken, or not for this user.
    """
    for wanted in (PORT, 0) if port is None else (port,):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, wanted))
            listening.listen()
        except OSError as error:
            listening.close()
            reason = error
        else:
            return listening
    raise HockeystickError(f"port {port} cannot be listened on ({reason.strerror}): give another one with --port")
