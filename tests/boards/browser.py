"""A headless Chromium for the tests, controlled by JSON lines, and bull-board on its own port."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: A picture of every page at the end of its test; not part of the repository.
SCREENSHOTS = HERE / "screenshots"


def find_chromium() -> str | None:
    """Return the path of a Chromium: ``CHROMIUM``, or one on PATH."""
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


class _Lines:
    """A Node process that prints one JSON line per line it reads."""

    def __init__(self, script: str, *args: str) -> None:
        self._process = subprocess.Popen(
            ["node", str(HERE / script), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"{self._process.args} ended with code {self._process.wait()}"
        return json.loads(line)

    def _write(self, line: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """End the process by closing its input."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()


class Browser(_Lines):
    """One page of a headless Chromium; its methods are those of browser.js."""

    def __init__(self, chromium: str, profile: Path) -> None:
        super().__init__("browser.js", chromium, str(profile))
        assert self._read() == {"value": "ready"}

    def __call__(self, method: str, *args: str | int | bool) -> Any:
        self._write([method, *args])
        reply = self._read()
        assert "error" not in reply, f"{method} {args}: {reply['error']}\n{self('text') if method != 'text' else ''}"
        return reply["value"]


class BullBoard(_Lines):
    """bull-board over some queues, in a browser."""

    def __init__(self, browser: Browser, redis_url: str, *queues: str) -> None:
        super().__init__("server.js", redis_url, *queues)
        self._browser = browser
        self._address = f"http://127.0.0.1:{self._read()}"

    def open(self, path: str) -> None:
        self._browser("open", self._address + path)

    def open_jobs(self, queue: str, status: str) -> None:
        self.open(f"/queue/{queue}?status={status}")

    def see(self, *texts: str) -> None:
        """Wait until the page shows each text."""
        for text in texts:
            self._browser("see", text)

    def text(self) -> str:
        text: str = self._browser("text")
        return text

    def click(self, text: str) -> None:
        """Click on the element with this text."""
        self._browser("click", f"text={json.dumps(text)}")

    def click_action(self, number: int) -> None:
        """Click on one of the small buttons of the first job."""
        self._browser("click", f"[class*=jobActions] li:nth-child({number}) button")

    def confirm(self) -> None:
        self._browser("click", "button:has-text('Confirm')")

    def open_menu(self) -> None:
        """Open the menu of the queue."""
        self._browser("click", "button[aria-haspopup=menu] >> nth=-1")

    def screenshot(self, name: str) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        self._browser("screenshot", str(SCREENSHOTS / f"{name}.png"))
