"""Server of the page: it listens on the loopback interface only, in a thread that runs until the server is closed."""

from __future__ import annotations

import secrets
import socket
import threading
from html import escape
from typing import TYPE_CHECKING

from hockeystick.values.domains import shown, whole
from hockeystick.values.errors import HockeystickError, InvalidInputError
from hockeystick.values.needed import need

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

LOOPBACK = "127.0.0.1"
"""The only address listened on, which no other machine reaches."""

PORT = 8417
"""Default port, used by no well-known service, and the same in every run so that links keep working."""

LARGEST_PORT = 65_535  # ports have 16 bits
CLOSE_TIMEOUT = 2  # seconds that open requests have to finish when the server is closed


class Explorer:
    """Running server of the page, as :func:`explore` returns it.

    Attributes:
        address: ``http://127.0.0.1:PORT/``, which only a browser that already has the key can open.
        url: address with the key of this run, for a browser on this machine.
    """

    def __init__(self, plan: Plan | None, name: str, port: int | None) -> None:
        need("the page", {"starlette": "starlette", "uvicorn": "uvicorn"}, "explore")
        import uvicorn

        from hockeystick.explorer.app import Lanes, application
        from hockeystick.explorer.given import Given

        given = None if plan is None else Given(plan, name)
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        self._key, self._once = (secrets.token_urlsafe() for _ in range(2))
        self._lanes = Lanes()
        app = application(given, self.port, self._key, self._once, self._lanes)
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=CLOSE_TIMEOUT,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="hockeystick-explore", daemon=True
        )
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.01)
            if not self._thread.is_alive():
                self.close()
                raise HockeystickError(f"the server did not start on {LOOPBACK}:{self.port}")

    @property
    def address(self) -> str:
        """Address of the page; followed by ``#`` and a state of the page, it is a link to this state."""
        return f"http://{LOOPBACK}:{self.port}/"

    @property
    def url(self) -> str:
        """Address with the key of this run; the browser that opens it keeps the key as a cookie."""
        return f"{self.address}?key={self._key}"

    def open(self) -> None:
        """Open the page in the browser, with a key that works only once; :attr:`url` opens the page again."""
        import webbrowser

        webbrowser.open(f"{self.address}?key={self._once}")

    def __repr__(self) -> str:
        return f"<Explorer at {self.url}>" if self._thread.is_alive() else "<Explorer, closed>"

    def _repr_html_(self) -> str:
        """HTML link to the page, as notebooks show it."""
        return f'<a href="{escape(self.url)}" target="_blank" rel="noopener">{escape(self.address)}</a>'

    def wait(self) -> None:
        """Block until the server stops or the user interrupts the program."""
        while self._thread.is_alive():
            self._thread.join(1.0)

    def close(self) -> None:
        """Stop serving; a second call does nothing."""
        self._server.should_exit = True
        self._lanes.close()
        self._thread.join(2 * CLOSE_TIMEOUT)
        self._socket.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def explore(plan: Plan | None = None, *, port: int | None = None, browser: bool = True, name: str = "") -> Explorer:
    """Serve the page of live curves on this machine, and open it in the browser.

    Args:
        plan: plan shown first; by default an example of DP-SGD.
        port: port on the loopback interface; 0 for any free one. By default 8417, or any free one if that is taken.
        browser: True to open the page in the browser.
        name: name of the plan on the page.

    Returns:
        The server, running in a thread until it is closed or the program ends.

    Raises:
        HockeystickError: starlette or uvicorn is missing, or the port is taken.
        InvalidInputError: the plan or the port is invalid.
    """
    from hockeystick.plan.plan import Plan

    if plan is not None and not isinstance(plan, Plan):
        raise InvalidInputError(f"explore takes a Plan; received {shown(plan)}", "plan")
    if port is not None:
        port = whole(port, "port", "0 means any free port", most=LARGEST_PORT)
    served = Explorer(plan, name, port)
    if browser:
        served.open()
    return served


def _listening(port: int | None) -> socket.socket:
    """Socket bound to the loopback interface.

    Raises:
        HockeystickError: the port is taken, or forbidden for this user.
    """
    for wanted in (PORT, 0) if port is None else (port,):
        try:
            return socket.create_server((LOOPBACK, wanted))
        except OSError as error:
            reason = error
    raise HockeystickError(f"cannot listen on port {port} ({reason.strerror}): choose another one with --port")
