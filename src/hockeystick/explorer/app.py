"""Application of the server: the page, its files and the answers to its questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hockeystick.explorer.answers import NUMBERS, answer, start
from hockeystick.explorer.curves import Check
from hockeystick.explorer.given import Given
from hockeystick.explorer.guard import Guard
from hockeystick.plan.file import parsed_json
from hockeystick.values.domains import one_line
from hockeystick.values.errors import HockeystickError, InvalidInputError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

STATIC = Path(__file__).parent / "static"

MOST_BYTES = 16_384
"""Longest question, in bytes; the keys of a plan take a few hundred."""


class OvertakenError(Exception):
    """Error for a question superseded by a newer one from the same origin."""


class Lanes:
    """Queues of questions on two threads, one for numbers and one for curves.

    While a slider moves, most questions are stale before their computation begins. The page gives its questions serial
    numbers, and a question is dropped once a newer one has arrived. A running computation checks from time to time
    whether a newer question has arrived; its length is bounded by the library's limit on the work of one call.
    """

    def __init__(self) -> None:
        self._threads = {quick: ThreadPoolExecutor(1, "hockeystick-explorer") for quick in (True, False)}
        self._newest: dict[tuple[str, ...], int] = {}

    async def answer(self, place: tuple[str, ...], serial: int, quick: bool, work: Callable[[Check], Any]) -> Any:
        """Return the result of ``work``.

        Args:
            place: origin of the question: browser tab, slot on the page, and quantity.
            serial: number of the question at its origin; larger is newer.
            quick: True for the thread of numbers, False for the thread of curves.
            work: function that computes the answer. Its argument is a check to be called during the computation,
                which raises once a newer question has arrived.

        Raises:
            OvertakenError: a newer question of this origin arrived before this one was answered.
        """
        self._newest[place] = max(serial, self._newest.get(place, serial))

        def check() -> None:  # called on the other thread, which only reads
            if self._newest.get(place, serial) > serial:
                raise OvertakenError

        def begun() -> Any:
            check()
            return work(check)

        return await asyncio.get_running_loop().run_in_executor(self._threads[quick], begun)

    def close(self) -> None:
        """Drop all waiting questions; a computation that is running finishes by itself."""
        for thread in self._threads.values():
            thread.shutdown(wait=False, cancel_futures=True)


def application(given: Given | None, port: int, key: str, once: str, lanes: Lanes) -> Guard:
    """Return the guarded ASGI application.

    Args:
        given: plan shown at the start, if any.
        port: port of the server.
        key: secret of this run.
        once: second secret, which opens the page only once.
        lanes: threads that answer questions.
    """
    from starlette.applications import Starlette
    from starlette.responses import FileResponse, JSONResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    async def page(request: Request) -> Response:
        return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")

    async def begin(request: Request) -> Response:
        return JSONResponse(start(given))

    async def ask(request: Request) -> Response:
        status, said = await answered(request, given, lanes)
        return JSONResponse(said, status)

    routes = [
        Route("/", page, methods=["GET"]),
        Route("/api/start", begin, methods=["GET"]),
        Route("/api/answer", ask, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Guard(Starlette(routes=routes), port, key, once)


async def answered(request: Request, given: Given | None, lanes: Lanes) -> tuple[int, dict[str, Any]]:
    """Answer a question with a status and JSON; a refusal is one line under ``error``."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {"error": "a question must have the content type application/json"}
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"a question must be at most {MOST_BYTES} bytes long"}
    try:
        question, place, serial = _read(bytes(body))
    except InvalidInputError as error:
        return HTTPStatus.BAD_REQUEST, {"error": str(error)}
    try:
        quick = question["want"] in NUMBERS
        found = await lanes.answer(place, serial, quick, lambda check: answer(question, given, check))
        return HTTPStatus.OK, found
    except OvertakenError:
        return HTTPStatus.CONFLICT, {"error": "superseded by a newer question"}
    except HockeystickError as error:
        return HTTPStatus.UNPROCESSABLE_ENTITY, {"error": one_line(str(error))}
    except Exception as error:  # the page shows the error, and the server keeps running
        return HTTPStatus.INTERNAL_SERVER_ERROR, {
            "error": one_line(f"unexpected {type(error).__name__}: {error}: please report this")
        }


def _read(body: bytes) -> tuple[Mapping[str, Any], tuple[str, ...], int]:
    """Parse a request: the question, its origin (browser tab, slot on the page, quantity) and its serial number.

    Raises:
        InvalidInputError: the body is not a valid question.
    """
    question = parsed_json(body, "a question")
    if not isinstance(question, dict):
        raise InvalidInputError("a question must be one JSON object")
    names = [question.get(key) for key in ("tab", "slot", "want")]
    place = tuple(name for name in names if isinstance(name, str))
    if len(place) < len(names):
        raise InvalidInputError("tab, slot and want must be strings")
    if type(serial := question.get("serial")) is not int:
        raise InvalidInputError("serial must be a whole number", "serial")
    return question, place, serial
