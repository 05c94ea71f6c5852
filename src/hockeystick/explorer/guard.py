"""Access control of the server: it answers only the browser that has the key, at a local address.

Other pages in the same browser can send requests to this server. These are refused because they lack the key, a cookie
that the browser sends for this page only, and because their header ``Origin`` differs. Other pages can also make a
domain name of theirs point to this machine (DNS rebinding). Requests to that name are refused because it is in their
header ``Host``. The key also keeps out other users of this machine.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost")
"""Names of this machine that are accepted."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer. The browser loads nothing from other servers, runs only scripts of this server, and stores
nothing."""

NO_KEY = "no key: open the address that `hockeystick explore` printed, with the part of a link from # on appended to it"
"""Message for a browser without the key of this run."""


class Guard:
    """ASGI application that guards another one.

    Args:
        app: guarded application.
        port: port of the server.
        key: secret of this run.
        once: second secret, which works only once. It is an argument of the command that starts the browser, and such
            arguments are visible to other users of the machine.
    """

    def __init__(self, app: ASGIApp, port: int, key: str, once: str | None = None) -> None:
        self._app, self._key, self._once = app, key, once
        self._hosts = [f"{name}:{port}" for name in NAMES]
        self.cookie = f"hockeystick_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to the guarded application, or answer it here."""
        if scope["type"] != "http":
            return
        from starlette.datastructures import MutableHeaders
        from starlette.requests import Request

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._answer(Request(scope))
        await (self._app if answer is None else answer)(scope, receive, guarded)

    def _answer(self, request: Request) -> Response | None:
        """The guard's own answer, a refusal or a redirection; ``None`` if the request may pass."""
        from starlette.responses import PlainTextResponse, Response

        def all_of(name: str) -> str:  # a repeated header is joined, so that it is not accepted
            return "; ".join(request.headers.getlist(name))

        host, key = all_of("host"), request.query_params.get("key")
        if host not in self._hosts:
            return PlainTextResponse("wrong host: this page is served on 127.0.0.1 only\n", 403)
        if "origin" in request.headers and all_of("origin") != f"http://{host}":
            return PlainTextResponse("wrong origin: this server answers its own page only\n", 403)
        if all_of("sec-fetch-site") not in ("", "none", "same-origin"):
            return PlainTextResponse("wrong site: this server answers its own page only\n", 403)
        if request.url.path == "/" and request.method == "GET" and key is not None and self._opens(key):
            kept = f"{self.cookie}={self._key}; HttpOnly; SameSite=Strict; Path=/"
            return Response(None, 303, {"Location": "/", "Set-Cookie": kept})  # keeps the fragment after #
        if not _same(request.cookies.get(self.cookie, ""), self._key):
            return PlainTextResponse(f"{NO_KEY}\n", 403)
        return None

    def _opens(self, text: str) -> bool:
        if self._once is not None and _same(text, self._once):
            self._once = None
            return True
        return _same(text, self._key)


def _same(one: str, other: str) -> bool:
    """True if two texts are equal, in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
