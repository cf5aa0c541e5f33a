"""What ./builder cannot say in shell: attributes, closures of Python packages, scripts.

Runs with the store's Python inside the sandbox.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

STORE = f"/nix/store/{'0' * 32}-"
SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
LISTS = (
    *("build-system", "dependencies", "nativeCheckInputs", "pythonImportsCheck"),
    *("pytestFlags", "disabledTests", "disabledTestPaths"),
)
# hooks that bring a package
BRINGS = {"pytestCheckHook": "pytest"}


def packaging() -> None:
    """Make `packaging` importable; it is not an input of the package."""
    sys.path.append(f"{STORE}packaging/{SITE}")


def canonical(name: str) -> str:
    """A distribution's name as the store has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def shell() -> None:
    """Attributes as JSON on stdin, as shell variables on stdout."""
    attributes = {**{name: [] for name in LISTS}, **json.load(sys.stdin)}
    for name, value in attributes.items():
        variable = name.replace("-", "_")
        if isinstance(value, list):
            words = " ".join(shlex.quote(str(word)) for word in value)
            print(f"{variable}=({words})")
        else:
            text = value if isinstance(value, str) else "1" if value else ""
            print(f"{variable}={shlex.quote(text)}")


def distribution(path: Path) -> Distribution | None:
    """The Python package in a store path, if there is one."""
    return next(iter(distributions(path=[str(path / SITE)])), None)


def requirements(of: Distribution, extras: set[str]) -> Iterator[tuple[str, set[str], str]]:
    """Name, extras and text of each requirement that holds here."""
    from packaging.requirements import Requirement

    for text in of.requires or []:
        wanted = Requirement(text)
        marker = wanted.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield canonical(wanted.name), set(wanted.extras), text


def closure(paths: list[str]) -> None:
    """Print these inputs and all that they need."""
    seen: set[str] = set()
    waiting: list[tuple[str, set[str]]] = [(path.removeprefix(STORE), set()) for path in paths]
    while waiting:
        name, extras = waiting.pop(0)
        name = BRINGS.get(name, name)
        if name in seen and not extras:
            continue
        path = Path(STORE + name)
        if not path.is_dir():
            raise SystemExit(f"the store has no {name}: add it to store.py or to the requirements")
        if name not in seen:
            print(path)
        seen.add(name)
        found = distribution(path)
        if found is not None:
            waiting += [(name, extras) for name, extras, _ in requirements(found, extras)]


def check(wheel: str) -> None:
    """End with an error if what the wheel requires is not there in the right version."""
    from packaging.requirements import Requirement

    project = wheel.split("/")[-1].split("-")[0]
    ours = next(d for d in distributions() if canonical(d.name) == canonical(project))
    for name, _, text in requirements(ours, set()):
        found = distribution(Path(STORE + name))
        if found is None or found.version not in Requirement(text).specifier:
            raise SystemExit(f"{text} is wanted, and {found and found.version} is there")


def install(out: str, wheel: str) -> None:
    """Install a wheel as Nix does: Debian's Python would choose another layout."""
    from installer import install as install_wheel
    from installer.destinations import SchemeDictionaryDestination
    from installer.sources import WheelFile

    place = {"base": out, "platbase": out}
    scheme = sysconfig.get_paths("posix_prefix", vars=place)
    interpreter = f"{STORE}python3/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    destination = SchemeDictionaryDestination(
        scheme, interpreter=interpreter, script_kind="posix", bytecode_optimization_levels=[0]
    )
    with WheelFile.open(wheel) as source:
        install_wheel(source=source, destination=destination, additional_metadata={})


def patch(file: str, search: str) -> None:
    """Let a script add its packages to `sys.path` by itself."""
    first, _, rest = Path(file).read_text().partition("\n")
    added = (
        f"import functools, site, sys\nsys.argv[0] = {file!r}\n"
        "functools.reduce(lambda known, path: site.addsitedir(path, known),"
        f" {search.split(':')!r}, site._init_pathinfo())\n"
    )
    Path(file).write_text(f"{first}\n{added}{rest}")


def main(action: str, *arguments: str) -> None:
    """One action of this module, by its name."""
    packaging()
    match action:
        case "shell":
            shell()
        case "closure":
            closure(list(arguments))
        case "check":
            check(*arguments)
        case "install":
            install(*arguments)
        case "patch":
            patch(*arguments)


main(*sys.argv[1:])
