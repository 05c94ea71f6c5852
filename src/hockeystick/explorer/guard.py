"""Access control of the server: it answers only the browser that has the key, at an address of this machine.

Other pages in the same browser can send requests here, and can let a name of theirs point to this machine (DNS
rebinding). The key, in a cookie that only this page sends, and the header ``Origin`` stop the former; the header
``Host``,
which then holds the foreign name, stops the latter. The key also keeps out other users of this machine.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
"""ASGI application, and the types of its arguments."""

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
"""Headers of every answer: nothing is loaded from elsewhere, only own scripts run, nothing is stored."""

NO_KEY = "no key: open the address that `hockeystick explore` printed; the part of a link after # can be put behind it"
"""Message for a browser without the key of this run."""


class Guard:
    """ASGI application that guards another one.

    Args:
        app: guarded application.
        port: port of the server.
        key: secret of this run.
        once: key that works once, for the browser started here, since other users of the machine can see the arguments
            of a program.
    """

    def __init__(self, app: Application, port: int, key: str, once: str | None = None) -> None:
        self._app, self._key, self._once = app, key, once
        self._hosts = [f"{name}:{port}" for name in NAMES]
        self.cookie = f"hockeystick_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it here."""
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        host = headers.get("host", "")
        origin = headers.get("origin")
        given = parse_qs(scope["query_string"].decode("latin-1")).get("key", [])
        if host not in self._hosts:
            await _say(send, 403, "another host: this page is served to 127.0.0.1 alone")
        elif origin is not None and origin != f"http://{host}":
            await _say(send, 403, "another origin: this page is asked by itself alone")
        elif headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            await _say(send, 403, "another site: this page is asked by itself alone")
        elif scope["path"] == "/" and scope["method"] == "GET" and given and self._opens(given[0]):
            kept = f"{self.cookie}={self._key}; HttpOnly; SameSite=Strict; Path=/"
            await _say(send, 303, "", {"Location": "/", "Set-Cookie": kept})  # keeps the fragment after #
        elif not self._is_key(_cookie(headers.get("cookie", ""), self.cookie)):
            await _say(send, 403, NO_KEY)
        else:
            await self._app(scope, receive, _with_headers(send))

    def _opens(self, text: str) -> bool:
        if self._once is not None and _same(text, self._once):
            self._once = None
            return True
        return self._is_key(text)

    def _is_key(self, text: str) -> bool:
        return _same(text, self._key)


def _same(one: str, other: str) -> bool:
    """True if two texts are equal, in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _headers(scope: Scope) -> dict[str, str]:
    """Headers by lower-case name; the values of a repeated one are joined, so that none is accepted."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}; {text}" if key in found else text
    return found


def _cookie(text: str, name: str) -> str:
    try:
        found = SimpleCookie(text).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            kept = [pair for pair in message.get("headers", []) if pair[0] not in dict(own)]
            message = {**message, "headers": [*kept, *own]}
        await send(message)

    return wrapped


async def _say(send: Send, status: int, text: str, more: dict[str, str] | None = None) -> None:
    """Answer with one line of text."""
    headers = {"Content-Type": "text/plain; charset=utf-8", **(more or {})}
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }
    send = _with_headers(send)
    await send(start)
    await send({"type": "http.response.body", "body": f"{text}\n".encode() if text else b""})
