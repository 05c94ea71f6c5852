"""Who is answered: the browser that has the key, by an address of this machine; and questions that are still wanted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hockeystick.explorer.app import Lanes, OvertakenError
from hockeystick.explorer.guard import HEADERS, Guard

KEY = "a-secret"
HOST = "127.0.0.1:8417"
COOKIE = f"hockeystick_8417={KEY}"


def get(query: str = "", path: str = "/", method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """What a guarded application answers, which says only that it was reached."""
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"public")]})
        await send({"type": "http.response.body", "body": b"reached"})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": named}
    asyncio.run(Guard(app, 8417, KEY)(scope, receive, send))
    start, body = sent
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, body["body"]


def test_the_key_becomes_a_cookie_that_scripts_and_other_pages_do_not_get() -> None:
    status, headers, _ = get(f"key={KEY}", host=HOST)
    assert (status, headers["location"]) == (303, "/")
    name, *marks = headers["set-cookie"].split("; ")
    assert name == COOKIE
    assert {"HttpOnly", "SameSite=Strict"} <= set(marks)


@pytest.mark.parametrize("host", [HOST, "localhost:8417"])
def test_who_has_the_key_is_answered(host: str) -> None:
    for more in ({}, {"origin": f"http://{host}", "sec_fetch_site": "same-origin"}, {"sec_fetch_site": "none"}):
        status, headers, body = get(host=host, cookie=f"other=1; {COOKIE}", **more)
        assert (status, body) == (200, b"reached")
        for name, value in HEADERS.items():
            assert headers[name.lower()] == value
        assert "unsafe" not in headers["content-security-policy"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": HOST},
        {"host": HOST, "cookie": "hockeystick_8417=a-guess"},
        {"host": HOST, "cookie": f"hockeystick_1={KEY}"},
        {"host": HOST, "cookie": "hockeystick_8417=\xff"},
        {"host": "127.0.0.1", "cookie": COOKIE},
        {"host": "127.0.0.1:80", "cookie": COOKIE},
        {"host": "rebound.example:8417", "cookie": COOKIE},
        {"host": f"{HOST}.example", "cookie": COOKIE},
        {"host": HOST, "cookie": COOKIE, "origin": "http://evil.example"},
        {"host": HOST, "cookie": COOKIE, "origin": "null"},
        {"host": HOST, "cookie": COOKIE, "origin": "http://127.0.0.1:9999"},
        {"host": HOST, "cookie": COOKIE, "origin": f"https://{HOST}"},
        {"host": HOST, "cookie": COOKIE, "sec_fetch_site": "cross-site"},
        {"host": HOST, "cookie": COOKIE, "sec_fetch_site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/start", "/static/main.js"])
def test_everybody_else_gets_one_line(headers: dict[str, str], path: str) -> None:
    status, answered, body = get(path=path, **headers)
    assert status == 403
    assert body.count(b"\n") == 1
    assert b"reached" not in body
    assert answered["content-security-policy"] == HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("query", ["key=", "key=a-guess", "key=%ff", "key", ""])
def test_a_wrong_key_opens_nothing(query: str) -> None:
    assert get(query, host=HOST)[0] == 403


def test_the_key_opens_by_the_right_host_alone() -> None:
    assert get(f"key={KEY}", host="rebound.example:8417")[0] == 403
    assert get(f"key={KEY}", path="/api/start", host=HOST)[0] == 403
    assert get(f"key={KEY}", method="POST", host=HOST)[0] == 403


def test_a_question_that_was_overtaken_is_not_computed() -> None:
    lanes = Lanes()
    busy = threading.Event()
    computed: list[object] = []

    def noted(what: object) -> Callable[[object], None]:
        return lambda _: computed.append(what)

    async def ask() -> list[Any]:
        place = ("tab", "A", "epsilon")
        first = asyncio.create_task(lanes.answer(place, 1, True, lambda _: busy.wait(10)))
        await asyncio.sleep(0.05)  # the first is being computed
        others = [asyncio.create_task(lanes.answer(place, serial, True, noted(serial))) for serial in (2, 4, 3)]
        elsewhere = asyncio.create_task(lanes.answer(("tab", "B", "epsilon"), 1, True, noted("B")))
        curve = await lanes.answer(("tab", "A", "delta"), 1, False, lambda _: "the other thread is free")
        busy.set()
        return [curve, *await asyncio.gather(first, *others, elsewhere, return_exceptions=True)]

    curve, first, second, newest, third, elsewhere = asyncio.run(ask())
    lanes.close()
    assert curve == "the other thread is free"
    assert first is True
    assert isinstance(second, OvertakenError)
    assert isinstance(third, OvertakenError)
    assert newest is elsewhere is None
    assert computed == [4, "B"]


def test_a_question_that_has_begun_ends_where_it_asks_whether_it_is_still_wanted() -> None:
    lanes = Lanes()
    begun, newer = threading.Event(), threading.Event()
    done: list[str] = []

    def slow(check: Callable[[], None]) -> None:
        check()
        done.append("a first place")
        begun.set()
        newer.wait(10)
        check()
        done.append("a second place")

    async def ask() -> list[Any]:
        place = ("tab", "A", "steps")
        first = asyncio.create_task(lanes.answer(place, 1, False, slow))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, 10)
        second = asyncio.create_task(lanes.answer(place, 2, False, lambda _: "the newer one"))
        await asyncio.sleep(0)  # it has been asked, and waits
        newer.set()
        return [*await asyncio.gather(first, second, return_exceptions=True)]

    first, second = asyncio.run(ask())
    lanes.close()
    assert isinstance(first, OvertakenError)
    assert second == "the newer one"
    assert done == ["a first place"]
