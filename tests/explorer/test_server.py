"""The server as a browser meets it: real requests to a real socket of this machine."""

from __future__ import annotations

import http.client
import importlib
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hockeystick as hs
from command import refused
from hockeystick.cli import main
from hockeystick.explorer import serve
from hockeystick.explorer.app import MOST_BYTES, STATIC
from hockeystick.explorer.keys import EXAMPLE
from hockeystick.explorer.serve import Explorer
from hockeystick.values.errors import HockeystickError, InvalidInputError

REASON = "starlette and uvicorn, the extra `explore`, are not installed"
QUESTION = {"tab": "t", "slot": "A", "serial": 1, "want": "epsilon", "plan": {"keys": dict(EXAMPLE)}}


def test_a_missing_extra_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.import_module

    def without(name: str, package: str | None = None) -> Any:
        if name == "uvicorn":
            raise ImportError(name)
        return found(name, package)

    monkeypatch.setattr(importlib, "import_module", without)
    message = refused("explore")
    assert message.startswith("the page needs starlette and uvicorn, one of which is missing; install them with")
    assert "pip install starlette uvicorn" in message
    assert "pip install '.[explore]'" in message
    with pytest.raises(HockeystickError, match="starlette and uvicorn"):
        hs.explore()


def test_importing_the_library_loads_no_server() -> None:
    import subprocess
    import sys

    script = (
        "import sys, hockeystick; print([m for m in sys.modules if 'explorer' in m or m in ('starlette', 'uvicorn')])"
    )
    done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, check=True)
    assert done.stdout == "[]\n"


def test_what_is_no_plan_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="explore takes a Plan"):
        hs.explore("plan.toml")  # type: ignore[arg-type]
    for port in (-1, 70_000, 1.5):
        with pytest.raises(InvalidInputError, match="port must be a whole number from 0 to 65535"):
            hs.explore(port=port)  # type: ignore[arg-type]


class Page:
    """A browser in few words: it keeps the cookie, and asks as the page does."""

    def __init__(self, explorer: Explorer) -> None:
        self.port = explorer.port
        status, headers, _ = self.get(explorer.url.removeprefix(explorer.address.removesuffix("/")))
        assert status == 303
        self.cookie = headers["set-cookie"].partition(";")[0]

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if hasattr(self, "cookie"):
            given.setdefault("Cookie", self.cookie)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        return self.request("GET", path, None, **headers)

    def ask(self, question: object, **headers: str) -> tuple[int, Any]:
        headers.setdefault("Content_Type", "application/json")
        body = question if isinstance(question, bytes) else json.dumps(question).encode()
        status, _, content = self.request("POST", "/api/answer", body, **headers)
        return status, json.loads(content)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    pytest.importorskip("starlette", reason=REASON)
    pytest.importorskip("uvicorn", reason=REASON)
    with hs.explore(port=0, browser=False) as explorer:
        yield Page(explorer)


def test_the_answer_is_the_library_s_to_the_last_bit(page: Page) -> None:
    status, found = page.ask(QUESTION)
    assert status == 200
    bound = hs.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60).epsilon(1e-5)
    assert found["answer"]["epsilon"] == {"lower": bound.lower, "estimate": bound.estimate, "upper": bound.upper}
    assert found["quoted"] == "2.39"


@pytest.mark.parametrize("want", ["delta", "attack", "steps", "noise", "copies"])
def test_curves_and_copies_are_answered(page: Page, want: str) -> None:
    status, found = page.ask({**QUESTION, "want": want})
    assert status == 200
    assert found["toml"] if want == "copies" else len(found["x"]) == len(found["upper"]) > 2


def test_a_refusal_is_one_line(page: Page) -> None:
    keys = {**EXAMPLE, "noise_multiplier": "<img src=x onerror=alert(1)>\n\x1b[31m"}
    status, found = page.ask({**QUESTION, "plan": {"keys": keys}})
    assert status == 422
    assert list(found) == ["error"]
    assert found["error"].isprintable()
    assert found["error"].startswith("noise_multiplier must be a number")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b"[" * (MOST_BYTES - 1), 400),
        (b"9" * 5000, 400),
        (json.dumps({**QUESTION, "serial": True}).encode(), 400),
        (json.dumps({**QUESTION, "slot": 1}).encode(), 400),
        (json.dumps({**QUESTION, "want": "price"}).encode(), 422),
        (json.dumps({**QUESTION, "plan": None}).encode(), 422),
        (json.dumps({**QUESTION, "more": "x" * MOST_BYTES}).encode(), 413),
    ],
)
def test_what_is_no_question_is_refused_in_one_line(page: Page, body: bytes, status: int) -> None:
    received, found = page.ask(body)
    assert received == status
    assert list(found) == ["error"]
    assert found["error"].isprintable()


def test_a_question_is_json_by_its_type(page: Page) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):  # what a form of another page can send
        assert page.ask(QUESTION, Content_Type=kind)[0] == 415


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/answer"),
        ("PUT", "/api/answer"),
        ("POST", "/"),
        ("DELETE", "/api/start"),
        ("POST", "/static/main.js"),
    ],
)
def test_other_methods_are_refused(page: Page, method: str, path: str) -> None:
    assert page.request(method, path)[0] == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example"},
        {"Host": "localhost:1"},
        {"Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Cookie": ""},
        {"Cookie": "hockeystick_1=guess"},
    ],
)
def test_who_may_not_ask_gets_nothing(page: Page, headers: dict[str, str]) -> None:
    for path in ("/", "/api/start", "/static/main.js"):
        assert page.get(path, **headers)[0] == 403
    status, _, content = page.request(
        "POST", "/api/answer", json.dumps(QUESTION).encode(), **{"Content-Type": "application/json"}, **headers
    )
    assert status == 403
    assert content.count(b"\n") == 1


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/", "/app.py", "/static/no.js"])
def test_nothing_but_the_files_of_the_page_is_served(page: Page, path: str) -> None:
    assert page.get(path)[0] in (404, 405)


def test_the_page_loads_nothing_from_outside_and_has_no_script_of_its_own(page: Page) -> None:
    status, headers, content = page.get("/")
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert "server" not in headers
    text = content.decode()
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", text)
    for source in re.findall(r"(?:src|href)=\"([^#\"]+)\"", text):
        assert page.get(f"/{source}")[0] == 200, source


def test_every_file_of_the_page_is_there_with_the_licence_of_what_is_not_ours(page: Page) -> None:
    kinds = {".js": "javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for path in STATIC.rglob("*"):
        if path.is_file() and path.suffix in kinds:
            status, headers, content = page.get(f"/static/{path.relative_to(STATIC).as_posix()}")
            assert (status, content) == (200, path.read_bytes())
            assert kinds[path.suffix] in headers["content-type"]
    assert "MIT" in (STATIC / "uplot" / "LICENSE").read_text(encoding="utf-8")
    assert "v1.6.32" in (STATIC / "uplot" / "uPlot.iife.min.js").read_text(encoding="utf-8")[:100]


def test_scripts_put_text_into_the_page_and_never_markup() -> None:
    for path in STATIC.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text), path


def test_it_listens_on_the_loopback_interface_alone(page: Page) -> None:
    own = socket.gethostbyname(socket.gethostname())
    if own.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError, match=r".*"):
        socket.create_connection((own, page.port), timeout=5)


def test_a_port_that_is_taken_is_named(page: Page) -> None:
    with pytest.raises(HockeystickError, match=f"cannot listen on port {page.port}"):
        hs.explore(port=page.port, browser=False)


def test_a_closed_page_is_closed(page: Page) -> None:
    explorer = hs.explore(hs.dp_sgd(1.0, 0.01, 10), port=0, browser=False)
    assert explorer.address in repr(explorer)
    assert explorer.address in explorer._repr_html_()
    explorer.close()
    explorer.close()
    assert repr(explorer) == "<Explorer, closed>"
    with pytest.raises(OSError, match=r".*"):
        socket.create_connection(("127.0.0.1", explorer.port), timeout=5)


def test_the_browser_is_opened_with_the_key(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    import webbrowser

    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with hs.explore(port=0) as explorer:
        (address,) = opened
        assert explorer.url not in address, "what a browser is started with can be seen by others"
        path = address.removeprefix(explorer.address.removesuffix("/"))
        own = Page(explorer)
        del own.cookie
        assert [own.get(path)[0] for _ in range(2)] == [303, 403]
        assert own.get("/?key=")[0] == 403


def test_the_command_says_the_address_and_ends_by_an_interrupt(
    page: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from click.testing import CliRunner

    plan = tmp_path / "plan.toml"
    hs.dp_sgd(1.0, 0.01, 10).save(plan)
    seen: list[Any] = []

    def interrupted(self: Any) -> None:
        own = Page(self)
        seen.append(json.loads(own.get("/api/start")[2])["given"])
        raise KeyboardInterrupt

    monkeypatch.setattr(serve.Explorer, "wait", interrupted)
    result = CliRunner().invoke(main, ["explore", str(plan), "--port", "0", "--no-browser"])
    assert result.exit_code == 0
    assert re.match(r"http://127\.0\.0\.1:\d+/\?key=[\w-]{43}\n", result.output)
    assert seen[0]["name"] == "plan.toml"
    assert not seen[0]["delta"]
    with_delta = ["explore", str(plan), "--delta", "1e-6", "--port", "0", "--no-browser"]
    assert CliRunner().invoke(main, with_delta).exit_code == 0
    assert seen[1]["keys"]["delta"] == "1e-6"


def test_the_command_refuses_a_bad_plan_and_a_bad_port(page: Page, tmp_path: Path) -> None:
    assert "no-such.toml" in refused("explore", tmp_path / "no-such.toml")
    assert "--port" in refused("explore", "--port", "70000")
    assert "--noise-multiplier" in refused("explore", "--sigma", "-1", "--sample-rate", "1%", "--steps", "3")
