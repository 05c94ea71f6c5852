"""The page in a real browser: it is slid, read, copied from and linked to, and nothing of a hostile plan runs.

``HOCKEYSTICK_PICTURES`` names a folder into which the pictures of the documentation are written.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

import hockeystick as hs
from browser import MISSING, Browser, chromium
from hockeystick.explorer.keys import EXAMPLE
from hockeystick.explorer.serve import Explorer
from hockeystick.plan.file import parse_plan
from hockeystick.report.rounding import SHOWN_DIGITS, round_up

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason=MISSING),
]

EXTRA = "starlette and uvicorn, the extra `explore`, are not installed"

IDLE = """
  document.querySelectorAll('.card').length > 0 && !document.querySelector('.waits')
  && [...document.querySelectorAll('.figure')].every(figure => figure.querySelector('canvas'))
"""
"""Whether the page has all its numbers and curves, and waits for none."""

WIDE, PHONE = (1280, 1000), (375, 740)
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> $\\frac{1}{0}$ \x1b[31m"


def shown(browser: Browser, name: str = "a") -> str:
    """The number in large type, of a plan."""
    return str(browser.run(f"document.querySelector('.card.of-{name} .value')?.textContent"))


def upper(plan: hs.Plan) -> str:
    return f"ε ≤ {round_up(plan.epsilon().upper)}"


def example(noise: float = 1.1, **others: object) -> hs.Plan:
    keys = {"batch_size": 256, "dataset_size": 60_000, "epochs": 60, "delta": 1e-5, **others}
    return hs.dp_sgd(noise, **keys)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    pytest.importorskip("starlette", reason=EXTRA)
    pytest.importorskip("uvicorn", reason=EXTRA)
    with hs.explore(port=0, browser=False) as served:
        yield served


@pytest.fixture(scope="module")
def browser(explorer: Explorer) -> Iterator[Browser]:
    with Browser(explorer.url, *WIDE) as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(browser: Browser, explorer: Explorer) -> None:
    browser.resize(*WIDE)
    browser.open(explorer.url)
    browser.wait(IDLE)
    browser.said.clear()
    browser.asked.clear()


def test_the_number_is_the_certified_one_and_follows_the_slider(browser: Browser) -> None:
    assert shown(browser) == upper(example())
    slider = 'input[type="range"][data-key="noise_multiplier"]'
    browser.run(f"document.querySelector('{slider}').focus()")
    for _ in range(3):
        browser.press("ArrowRight")
    noise = float(browser.run("document.getElementById('a-noise_multiplier').value"))
    assert noise > 1.1
    browser.wait(f"document.querySelector('.card .value').textContent === {json.dumps(upper(example(noise)))}")
    browser.set("#a-epochs", "10")
    browser.wait(
        f"document.querySelector('.card .value').textContent === {json.dumps(upper(example(noise, epochs=10)))}"
    )
    browser.wait(IDLE)
    assert "number in" in browser.run("document.getElementById('timing').textContent")
    assert not browser.said


def test_a_number_is_read_out_once_nothing_moves(browser: Browser) -> None:
    browser.set("#a-noise_multiplier", "2")
    quoted = round_up(example(2.0).epsilon().upper)
    browser.wait(f"document.getElementById('spoken').textContent.includes('epsilon <= {quoted} at delta = 1e-5')")


def test_a_value_that_is_refused_leaves_no_number(browser: Browser) -> None:
    browser.set("#a-noise_multiplier", "<b>")
    browser.wait("document.querySelector('.card .number').textContent.includes('no number')")
    said = browser.run("document.querySelector('.card .refused').textContent")
    assert said.startswith("noise_multiplier must be a number")
    assert browser.run("document.getElementById('a-noise_multiplier').getAttribute('aria-invalid')") == "true"
    assert browser.run("document.querySelectorAll('.figure canvas').length") == 0
    browser.set("#a-noise_multiplier", "1.1")
    browser.wait(IDLE)
    assert shown(browser) == upper(example())


OTHERWISE: dict[str, dict[str, object]] = {
    "none": {"steps": 14_100},  # where a pass has no length
    "with-replacement": {"draws": 256, "dataset_size": 60_000, "epochs": 60},
    "truncated-poisson": {"sample_rate": 256 / 60_000, "dataset_size": 60_000, "max_batch_size": 320, "epochs": 60},
    "cyclic-poisson": {"groups": 4, "sample_rate": 256 / 60_000, "epochs": 60},
}
"""What the page makes of the example under schemes that have other keys: the same batches, with room for four standard
deviations where they are cut, and as many steps."""


@pytest.mark.parametrize("scheme", ["random-allocation", "without-replacement", *OTHERWISE])
def test_every_scheme_has_its_own_number(browser: Browser, scheme: str) -> None:
    browser.set('select[name="a-sampling"]', scheme)
    if scheme in OTHERWISE:
        plan = hs.dp_sgd(1.1, delta=1e-5, sampling=scheme, **OTHERWISE[scheme])  # type: ignore[arg-type]
    else:
        plan = example(sampling=scheme)
    browser.wait(f"document.querySelector('.assumed').textContent.includes('sampling {scheme}')")
    assert shown(browser) == upper(plan)
    browser.wait(IDLE)


def plan_on(browser: Browser) -> dict[str, str]:
    """The values of all controls of plan A."""
    found: dict[str, str] = browser.run(
        "Object.fromEntries([...document.querySelectorAll('.panel.of-a input[type=text], .panel.of-a select')]"
        ".map(one => [one.name, one.value]))"
    )
    return found


def walk(browser: Browser) -> list[str]:
    """Choose every sampling scheme in the order of the menu."""
    schemes: list[str] = browser.run(
        "[...document.querySelector('select[name=a-sampling]').options].map(one => one.value)"
    )
    for scheme in schemes:
        browser.set('select[name="a-sampling"]', scheme)
        browser.wait(f"document.querySelector('.assumed').textContent.includes('sampling {scheme}')")
        if scheme in OTHERWISE:
            plan = hs.dp_sgd(1.1, delta=1e-5, sampling=scheme, **OTHERWISE[scheme])  # type: ignore[arg-type]
        else:
            plan = example(sampling=scheme)
        assert shown(browser) == upper(plan), scheme
    return schemes


def test_a_walk_through_all_schemes_ends_where_it_began(browser: Browser) -> None:
    before = plan_on(browser)
    schemes = walk(browser)
    assert len(schemes) == 8
    browser.set('select[name="a-sampling"]', "poisson")
    browser.wait(f"document.querySelector('.card .value').textContent === {json.dumps(upper(example()))}")
    assert plan_on(browser) == before
    browser.set('select[name="a-sampling"]', "cyclic-poisson")
    browser.click(".add")  # which builds the controls of plan A anew
    browser.wait("document.querySelectorAll('.card').length === 2")
    walk(browser)


def test_an_edit_under_another_scheme_is_kept_and_nothing_else(browser: Browser) -> None:
    before = plan_on(browser)
    browser.set('select[name="a-sampling"]', "cyclic-poisson")
    browser.set('select[name="a-sampling"]', "none")
    browser.set("#a-noise_multiplier", "2")
    browser.set('select[name="a-sampling"]', "poisson")
    browser.wait(f"document.querySelector('.card .value').textContent === {json.dumps(upper(example(2.0)))}")
    assert plan_on(browser) == {**before, "a-noise_multiplier": "2"}
    browser.set('select[name="a-sampling"]', "with-replacement")
    browser.set("#a-draws", "512")
    browser.set('select[name="a-sampling"]', "poisson")
    plan = example(2.0, batch_size=512)
    browser.wait(f"document.querySelector('.card .value').textContent === {json.dumps(upper(plan))}")


def test_ways_of_saying_the_same_give_the_same(browser: Browser) -> None:
    for way, field in (("sample_rate", "a-sample_rate"), ("steps", "a-steps")):
        browser.click(f'input[type="radio"][value="{way}"]')
        browser.wait(f"document.getElementById('{field}') !== null")
        browser.wait(IDLE)
        assert shown(browser) == upper(example())
    assert browser.run("document.getElementById('a-sample_rate').value") == "256/60000"
    assert browser.run("document.getElementById('a-steps').value") == "14100"


def test_two_plans_stand_beside_each_other(browser: Browser) -> None:
    browser.click(".add")
    browser.wait("document.querySelectorAll('.card').length === 2")
    browser.set("#b-noise_multiplier", "2")
    browser.set("#b-delta", "1e-3")
    browser.wait(
        f"document.querySelector('.card.of-b .value')?.textContent === {json.dumps(upper(example(2.0, delta=1e-3)))}"
    )
    browser.wait(IDLE)
    assert shown(browser) == upper(example())
    assert "delta is at least 1/dataset_size" in browser.run(
        "document.querySelector('.caveats.of-b .warning').textContent"
    )
    assert browser.run("document.querySelector('.card.of-b .flag').textContent") == "see warning"
    for want in ("delta", "attack", "steps", "noise"):
        assert browser.run(f"document.querySelectorAll('#figure-{want} .reading [data-plan=B]').length") >= 1
    browser.click(".of-b .panel-head button")
    browser.wait("document.querySelectorAll('.card').length === 1")


HOLD = """
  const ask = window.fetch;
  const held = new Promise(resolve => { window.release = resolve; });
  window.fetch = async (address, options) => {
    if (JSON.parse(options.body).want KIND 'epsilon') await held;
    return ask(address, options);
  };
"""
"""Hold back the answers to all questions of a kind until ``release()``."""


def said_of_b(browser: Browser) -> list[str]:
    """All that the figures say of plan B: lines, names for screen readers, and tables."""
    found: list[str] = browser.run("""[
      ...[...document.querySelectorAll('.figure .reading [data-plan=B]')].map(one => one.textContent),
      ...[...document.querySelectorAll('.plot')].map(one => one.getAttribute('aria-label').split('plan B: ')[1]),
      ...[...document.querySelectorAll('.table')].map(one => one.textContent.split('Plan B')[1]),
    ]""")
    return found


def test_no_old_number_stands_beside_a_new_one(browser: Browser) -> None:
    browser.click(".add")
    browser.set("#b-epochs", "2")
    before = upper(example(epochs=2))
    browser.wait(f"document.querySelector('.card.of-b .value')?.textContent === {json.dumps(before)}")
    browser.wait(IDLE)
    browser.run("document.querySelectorAll('.figure details').forEach(one => { one.open = true; })")
    browser.wait("[...document.querySelectorAll('.table')].every(one => one.textContent.includes('Plan B'))")
    assert all(re.search(r"\d", text) for text in said_of_b(browser))
    browser.run(f"(() => {{ {HOLD.replace('KIND', '!==')} }})()")
    browser.set('select[name="b-sampling"]', "shuffled")
    after = upper(example(epochs=2, sampling="shuffled"))
    assert after != before
    browser.wait(f"document.querySelector('.card.of-b .value').textContent === {json.dumps(after)}")
    texts = said_of_b(browser)
    assert len(texts) == 5 + 4 + 4
    for text in texts:
        assert "computing" in text
        assert not re.search(r"\d", text)
    browser.run("release()")
    browser.wait(IDLE)
    browser.wait("!document.querySelector('#figures').textContent.includes('computing')")
    texts = said_of_b(browser)
    assert all(re.search(r"\d", text) for text in texts)
    assert any(text.startswith(f"at ε = {after.removeprefix('ε ≤ ')}: ") for text in texts)


def test_a_late_number_is_marked_as_old(browser: Browser) -> None:
    browser.run(f"(() => {{ {HOLD.replace('KIND', '===')} }})()")
    browser.set("#a-noise_multiplier", "2")
    browser.wait("document.querySelector('.card.waits .interval')?.textContent.includes('computing')")
    browser.wait("document.getElementById('spoken').textContent === 'Plan A: computing …'")
    browser.run("release()")
    browser.wait(f"document.querySelector('.card .value').textContent === {json.dumps(upper(example(2.0)))}")
    browser.wait("document.getElementById('spoken').textContent.includes('at delta = 1e-5')")
    assert "computing" not in browser.run("document.querySelector('.card').textContent")


def test_the_noise_for_a_target_follows_the_target(browser: Browser) -> None:
    browser.set("#target", "1")
    noise = hs.calibrate(example(), "noise-multiplier", hs.targets.Epsilon(1.0, 1e-5)).value
    words = f"noise multiplier {round_up(noise, SHOWN_DIGITS)}"
    browser.wait(f"document.getElementById('figure-noise').textContent.includes({json.dumps(words)})")


def test_the_arrow_keys_read_a_figure(browser: Browser) -> None:
    browser.run("document.querySelector('#figure-steps .plot').focus()")
    browser.press("ArrowLeft")
    browser.press("ArrowLeft")
    label = browser.run("document.querySelector('#figure-steps .plot').getAttribute('aria-label')")
    assert "after 13016 steps" in label
    browser.run("document.querySelector('#figure-steps details').open = true")
    browser.wait("document.querySelectorAll('#figure-steps tbody tr').length > 10")


@pytest.mark.parametrize("want", ["toml", "flags", "python", "link"])
def test_what_is_copied_is_the_plan_that_is_shown(browser: Browser, want: str) -> None:
    browser.set("#a-noise_multiplier", "1.7")
    browser.wait(IDLE)
    browser.run("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    browser.click(f'button[data-copy="{want}"]')
    text = browser.wait("window.copied")
    assert browser.run("document.querySelector('.said').textContent") == "Copied."
    if want == "toml":
        assert parse_plan(text, "copied") == example(1.7)
    elif want == "link":
        assert parse_qs(text.partition("#")[2])["a.noise_multiplier"] == ["1.7"]
        assert "key=" not in text
    else:
        assert "1.7" in text


def test_a_link_holds_all_of_the_state(browser: Browser, explorer: Explorer) -> None:
    browser.click(".add")
    browser.wait("document.querySelectorAll('.card').length === 2")
    browser.set("#b-noise_multiplier", "3")
    browser.set("#target", "0.7")
    browser.wait("location.hash.includes('b.noise_multiplier=3') && location.hash.includes('target=0.7')")
    link = browser.run("location.href")
    browser.open(f"{explorer.url}{link[link.index('#') :]}")  # the key first, as in another browser
    browser.wait(IDLE)
    assert (shown(browser, "a"), shown(browser, "b")) == (upper(example()), upper(example(3.0)))
    assert browser.run("document.getElementById('target').value") == "0.7"
    assert "key=" not in browser.run("location.href")
    browser.run("location.hash = '#a.given=0123&a.noise=2'")
    browser.wait("document.querySelector('.card .refused')?.textContent.includes('another plan file')")
    browser.run("location.hash = '#a.noise_multiplier=1&a.sample_rate=0.01&a.steps=10&a.delta=1e-5&a.nois=3'")
    browser.wait("document.querySelector('.card .refused')?.textContent.includes(\"received 'nois'\")")


def test_nothing_is_asked_of_another_machine(browser: Browser, explorer: Explorer) -> None:
    browser.open(explorer.url)
    browser.wait(IDLE)
    assert len(browser.asked) > 8
    assert not [address for address in browser.asked if not address.startswith((explorer.address, "about:"))]
    blocked = "fetch('http://example.invalid/').then(() => 'went', () => 'blocked')"
    assert browser.run(blocked) == "blocked"
    assert any("Content Security Policy" in line for line in browser.said)


def test_it_has_no_sideways_scrolling_on_a_phone(browser: Browser) -> None:
    browser.click(".add")
    browser.resize(*PHONE)
    browser.set("#b-delta", "1e-3")
    browser.wait(IDLE)
    assert browser.run("document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.run(
        "[...document.querySelectorAll('canvas')].every(one => one.getBoundingClientRect().right <= 375)"
    )


def test_a_phone_shows_every_word_of_a_warning(browser: Browser) -> None:
    browser.resize(*PHONE)
    browser.click(".add")
    browser.set('select[name="b-sampling"]', "shuffled")
    browser.set("#b-delta", "1e-3")
    browser.wait("document.querySelectorAll('.caveats.of-b .warning').length === 2")
    text = browser.run("document.querySelector('#caveats').textContent")
    assert "quote the upper end only" in text
    cut = """[...document.querySelectorAll('.warning')].filter(one => {
      const own = one.getBoundingClientRect();
      for (let box = one; box; box = box.parentElement) {
        const [outer, style] = [box.getBoundingClientRect(), getComputedStyle(box)];
        const short = box.scrollHeight > box.clientHeight || outer.bottom < own.bottom;
        if (style.overflow !== 'visible' && short) return true;
      }
      return own.left < 0 || own.right > innerWidth || one.scrollWidth > one.clientWidth;
    }).length"""
    assert browser.run(cut) == 0


def test_every_control_has_a_name(browser: Browser) -> None:
    browser.click(".add")
    browser.wait("document.querySelectorAll('.card').length === 2")
    browser.wait(IDLE)
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    controls = {"slider", "textbox", "combobox", "radio", "button", "image", "MenuListPopup"}
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored") and node.get("role", {}).get("value") in controls
    ]
    assert len(named) > 30
    assert not [role for role, name in named if not name and role != "MenuListPopup"]


def test_colours_have_contrast_in_both_schemes(browser: Browser) -> None:
    """The contrast of WCAG 2, at least 4.5 for text on what it stands on."""
    script = """(() => {
      const css = getComputedStyle(document.documentElement);
      const light = (name) => {
        const value = css.getPropertyValue(name).trim();
        const [r, g, b] = [1, 3, 5].map(at => parseInt(value.slice(at, at + 2), 16) / 255)
          .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const pairs = [['--ink', '--card'], ['--ink', '--ground'], ['--soft', '--card'], ['--soft', '--ground'],
        ['--a', '--card'], ['--b', '--card'], ['--warn', '--warn-ground'], ['--bad', '--bad-ground']];
      return Math.min(...pairs.map(([x, y]) => {
        const [low, high] = [light(x), light(y)].sort((p, q) => p - q);
        return (high + 0.05) / (low + 0.05);
      }));
    })()"""
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert browser.run(script) >= 4.5, scheme
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_a_hostile_plan_stays_text(browser: Browser, tmp_path: Path) -> None:
    keys = {
        "delta": 1e-6,
        "published": {"epsilon": 3.0, "source": HOSTILE, "note": HOSTILE},
        "round": [
            {"mechanism": "gaussian", "noise_multiplier": 5.0, "count": 3},
            {"mechanism": "laplace", "scale": 20.0, "count": 5},
        ],
    }
    with hs.explore(hs.Plan.from_dict(keys), port=0, browser=False, name=HOSTILE) as served:
        browser.open(served.url)
        browser.wait(IDLE)
        browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        text = browser.run("document.body.textContent")
        assert text.count("<script>alert(2)</script>") >= 3  # the name, the source and the note
        assert browser.run("document.querySelectorAll('main img, main script, main iframe').length") == 0
        browser.set("#a-noise", HOSTILE[:60])
        browser.wait("document.querySelector('.card .refused') !== null")
        browser.open(f"{served.url}#a.noise={HOSTILE[:50]}&a.sampling={HOSTILE}&target={HOSTILE[:20]}")
        browser.wait("document.querySelector('.card .refused') !== null")
        time.sleep(0.3)  # in which a picture that is not there would have failed to load
    assert browser.dialogs == 0
    assert not [line for line in browser.said if "422" not in line]


def test_a_server_that_was_ended_is_said(browser: Browser) -> None:
    with hs.explore(port=0, browser=False) as served:
        browser.open(served.url)
        browser.wait(IDLE)
    browser.set("#a-noise_multiplier", "3")
    browser.wait("document.querySelector('.card .refused')?.textContent.includes('still running')")


def test_pictures(explorer: Explorer, tmp_path: Path) -> None:
    """The page as it is shown in the documentation, light and dark, and on a phone."""
    folder = Path(os.environ.get("HOCKEYSTICK_PICTURES", tmp_path))
    keys = {**EXAMPLE, "noise_multiplier": "1.6", "sampling": "without-replacement"}
    state = "&".join(
        [*(f"a.{key}={value}" for key, value in EXAMPLE.items()), *(f"b.{k}={v}" for k, v in keys.items())]
    )
    for name, size, dark in (("explore", WIDE, False), ("explore-dark", WIDE, True), ("explore-phone", PHONE, False)):
        with Browser(f"{explorer.url}#{state}&target=2", *size, dark=dark) as own:
            own.wait(IDLE)
            for noise in ("1.3", "1.2", "1.1"):  # the first answers load what later ones have
                own.set("#a-noise_multiplier", noise)
                own.wait(IDLE)
                time.sleep(1.0)
            assert own.picture(folder / f"{name}.webp").stat().st_size > 10_000
