"""A headless Chromium, driven through a pipe in its DevTools protocol: pages, clicks and pictures."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""How the browser is called, by Debian first."""

MISSING = "no Chromium for the tests of the page: on Debian, apt-get install chromium"
"""What is said where there is none."""

PATIENCE = 90.0  # seconds that one step may take: the machine may be busy
POLL = 0.02  # seconds between two looks at the page


def chromium() -> str | None:
    """The path of the browser, where there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page in a browser of its own, which keeps nothing.

    Args:
        address: what is opened.
        width: of the window, in CSS pixels.
        height: of the window.
        dark: whether the system is said to prefer dark colours.
    """

    def __init__(self, address: str, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        path = chromium()
        assert path is not None, MISSING
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--no-first-run", "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
            f"--user-data-dir={self._folder.name}", "about:blank",
        ]  # fmt: skip
        reads, writes = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write))  # in nobody's way
        actions = [
            *((os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (1, 2)),
            (os.POSIX_SPAWN_DUP2, reads, 3),  # from which the browser reads
            (os.POSIX_SPAWN_DUP2, writes, 4),  # to which it writes
        ]
        self._process = os.posix_spawn(path, [path, *flags], os.environ, file_actions=actions)
        for end in (to_read, to_write, reads, writes):
            os.close(end)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self.said: list[str] = []  # on the console of the page, errors of scripts and of its policy among them
        self.dialogs = 0  # that were opened: only a script opens one
        self.asked: list[str] = []  # addresses of all requests
        self._session = None
        target = next(
            item["targetId"] for item in self.call("Target.getTargets")["targetInfos"] if item["type"] == "page"
        )
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.open(address)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """What the browser answers to a call of its protocol."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == number:
                assert "error" not in found, found
                result: dict[str, Any] = found["result"]
                return result

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser has gone"
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        self._noted(found.get("method"), found.get("params", {}))
        return found

    def _noted(self, method: str | None, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.said.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.said.append(json.dumps(params["args"]))
        elif method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs += 1

    def open(self, address: str) -> None:
        """Go to an address; a page that is there already is loaded anew."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def run(self, script: str) -> Any:
        """The value of an expression on the page; a promise is waited for."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, script: str, what: str = "") -> Any:
        """The value of an expression as soon as it is true.

        Raises:
            AssertionError: it does not become true in time.
        """
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                found = self.run(script)
            except AssertionError:  # the page is being loaded
                found = None
            if found:
                return found
            time.sleep(POLL)
        raise AssertionError(f"{what or script}: not within {PATIENCE:g} s; the page said {self.said}")

    def set(self, selector: str, value: str) -> None:
        """Give a field of the page a value, as its user does."""
        self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}); box.value = {json.dumps(value)}; "
            "box.dispatchEvent(new Event(box.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true})); })()"
        )

    def click(self, selector: str) -> None:
        """Click on the middle of an element, with the mouse."""
        place = self.run(
            f"(() => {{ const found = document.querySelector({json.dumps(selector)}); found.scrollIntoView("
            "{block: 'center'}); const at = found.getBoundingClientRect(); "
            "return [at.left + at.width / 2, at.top + at.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key of the keyboard, such as ``ArrowRight``."""
        code = {"ArrowRight": 39, "ArrowLeft": 37, "Tab": 9}[key]
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, path: Path, whole: bool = False) -> Path:
        """The window as a file, or the whole page: a PNG or a WebP, as the ending says."""
        form = path.suffix.removeprefix(".")
        found = self.call("Page.captureScreenshot", format=form, captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(found["data"]))
        return path

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def close(self) -> None:
        """End the browser, and remove what it kept."""
        os.close(self._write)
        os.close(self._read)
        os.waitpid(self._process, 0)  # it ends where its pipe does
        self._folder.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
