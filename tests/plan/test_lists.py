"""Lists of a plan in files beside it: read exactly, contained in the plan's folder, refused in one line."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hockeystick import InvalidInputError, Plan, Pmf, Round, load_plan

PLAN = '[[round]]\nmechanism = "pmf"\np = "{p}"\nq = "{q}"\n'


def pmf(p: Any, q: Any) -> Pmf:
    return Pmf(p, q)


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_and_arrays_are_the_lists_themselves(tmp_path: Path) -> None:
    """Text stands for the fraction that it is; doubles for the decimals that they print as."""
    (tmp_path / "laws.csv").write_text("outcome,p,q\nyes,1/3,0.1\nno,2/3,0.9\n", encoding="utf-8")
    found = load_plan(written(tmp_path, PLAN.format(p="laws.csv", q="laws.csv")))
    assert found == Plan([Round(pmf(["1/3", "2/3"], [0.1, 0.9]))])
    (tmp_path / "more").mkdir()
    np.save(tmp_path / "more" / "p.npy", np.array([0.25, 0.75]))
    (tmp_path / "q.csv").write_text("0.5\n\n0.5\n", encoding="utf-8")
    found = load_plan(written(tmp_path, PLAN.format(p="more/p.npy", q="q.csv")))
    assert found == Plan([Round(pmf([0.25, 0.75], [0.5, 0.5]))])
    found.save(tmp_path / "again.json")
    (tmp_path / "q.csv").unlink()
    assert load_plan(tmp_path / "again.json") == found  # with the numbers in it


@pytest.mark.parametrize("mechanism", ["rdp", "privacy-curve", "tradeoff", "mixture-gaussian"])
def test_every_mechanism_with_lists_reads_them(tmp_path: Path, mechanism: str) -> None:
    columns: dict[str, dict[str, list[float]]] = {
        "rdp": {"orders": [2, 4, 8], "epsilons": [0.1, 0.2, 0.4]},
        "privacy-curve": {"epsilons": [0.0, 1.0], "deltas": [0.1, 0.01]},
        "tradeoff": {"alphas": [0.0, 0.1, 1.0], "betas": [1.0, 0.7, 0.0]},
        "mixture-gaussian": {"sensitivities": [0, 1], "probabilities": [0.9, 0.1]},
    }
    lists = columns[mechanism]
    rows = [",".join(lists), *(",".join(map(str, row)) for row in zip(*lists.values(), strict=True))]
    (tmp_path / "lists.csv").write_text("\n".join(rows), encoding="utf-8")
    more = {"noise_multiplier": 2.0} if mechanism == "mixture-gaussian" else {}
    said = "".join(f'{key} = "lists.csv"\n' for key in lists) + "".join(f"{k} = {v}\n" for k, v in more.items())
    found = load_plan(written(tmp_path, f'[[round]]\nmechanism = "{mechanism}"\n{said}'))
    assert found == Plan.from_dict({"round": [{"mechanism": mechanism, **lists, **more}]})


class Harmful:
    """What runs code where it is unpickled."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("harm"),))


def test_nothing_outside_is_read_and_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text("0.5\n0.5\n", encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "link.csv").symlink_to(outside)
    np.save(folder / "code.npy", np.array([Harmful()]), allow_pickle=True)
    (folder / "bare.npy").write_bytes(pickle.dumps(Harmful()))
    (folder / "folder.csv").mkdir()
    for name, message in {
        str(outside): "p: ",
        "../outside.csv": "a relative path without '..'",
        "link.csv": "a link to outside the plan's folder",
        "code.npy": "no .npy file of numbers",
        "bare.npy": "no .npy file of numbers",
        "folder.csv": "no regular file",
        "missing.csv": "cannot be read: no such file",
        "laws.txt": "the name of a .csv or .npy file beside the plan; received 'laws.txt'",
    }.items():
        with pytest.raises(InvalidInputError) as caught:
            load_plan(written(folder, PLAN.format(p=name, q=name)))
        assert message in str(caught.value)
        assert "round 1: p" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not (folder / "harm").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it must have one column 'p'; its first line has "),
        ("a,b\n1,2\n", "it must have one column 'p'; its first line has 'a', 'b'"),
        ("p,p\n1,2\n", "it must have one column 'p'; its first line has 'p', 'p'"),
        ("p,q\n1\n", "row 2 has no number in that column; received ['1']"),
        ("p\n0.5\nx\n", "element 2 of p must be a number from 0 to 1"),
        ("p\n0.5\n0.4\n", "the probabilities of p must add up to 1"),
        ('p\n"0.5\n', "no CSV file in UTF-8"),
        ("p,q\n,1\n", "row 2 has no number in that column"),
    ],
)
def test_files_that_hold_no_such_list(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "p.csv").write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        load_plan(written(tmp_path, '[[round]]\nmechanism = "pmf"\np = "p.csv"\nq = [0.5, 0.5]\n'))
    assert message in str(caught.value)


def test_an_array_that_promises_more_than_the_file_has(tmp_path: Path) -> None:
    """A header of a million million numbers takes no memory."""
    np.save(tmp_path / "p.npy", np.array([0.5, 0.5]))
    content = (tmp_path / "p.npy").read_bytes()
    said = content.replace(b"(2,), }" + b" " * 12, b"(1000000000000,), }")
    assert said != content
    (tmp_path / "p.npy").write_bytes(said)
    with pytest.raises(InvalidInputError, match="cut off"):
        load_plan(written(tmp_path, '[[round]]\nmechanism = "pmf"\np = "p.npy"\nq = [0.5, 0.5]\n'))


def test_a_plan_without_a_folder_names_no_files() -> None:
    with pytest.raises(InvalidInputError, match="round 1: p must be a list"):
        Plan.from_dict({"round": [{"mechanism": "pmf", "p": "p.csv", "q": [0.5, 0.5]}]})
