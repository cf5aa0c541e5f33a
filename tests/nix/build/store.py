"""Make the store of the imitated Nix build: one folder for each input of the package.

Programs come from the first of Debian's suites that carries the wanted Python, wheels from pip at
the versions of nix/constraints.txt. As in a real store nothing refers to /usr.

`store.py CACHE` fills CACHE/store unless it is there already; exit code 69, with a reason, where
apt or pip cannot provide what it takes.
"""

from __future__ import annotations

import configparser
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from debian import Cannot, Suite, name_of, run, unpack

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[2]
CONSTRAINTS = PROJECT / "nix" / "constraints.txt"
PYPROJECT = PROJECT / "python" / "pyproject.toml"
PYTHON = "3.14"
"""What `python3` is in the locked nixpkgs."""
SUITES = ("forky", "sid")
STORE = f"/nix/store/{'0' * 32}-"

# inputs of Nix's stdenv and of package.nix, and the Debian packages that hold their programs
PROGRAMS = {
    "bash": ["bash"],
    "bzip2": ["bzip2"],
    "coreutils": ["coreutils"],
    "diffutils": ["diffutils"],
    "findutils": ["findutils"],
    "gawk": ["gawk"],
    "gitMinimal": ["git"],
    "gnugrep": ["grep"],
    "gnused": ["sed"],
    "gnutar": ["tar"],
    "gzip": ["gzip"],
    "perl": ["perl", "perl-base"],
    "procps": ["procps"],
    "python3": [f"python{PYTHON}", f"python{PYTHON}-minimal"],
    "util-linux": ["util-linux", "mount"],
    "xz": ["xz-utils"],
}
# further names of a program, as nixpkgs has them: input, name, program
ALIASES = (
    ("bash", "sh", "bash"),
    ("gawk", "awk", "gawk"),
    ("python3", "python", f"python{PYTHON}"),
    ("python3", "python3", f"python{PYTHON}"),
)
# the imitation's own; on nobody's PATH
FURTHER = ["busybox-static", "libc-bin", "nix-bin", f"python{PYTHON}-venv"]
# what Nix's hooks bring beside the package's own inputs
WHEELS = ["build", "hatchling", "installer", "packaging"]
# for new virtual environments: Debian's own reads certificates that a sandbox does not have
PIP = "pip"

Scripts = dict[str, str]


def requirements() -> list[str]:
    """What the package needs to be built, to run and to be tested, as pip takes it."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["test"], *WHEELS, PIP]


def key() -> str:
    """Changes with anything that the store is made of."""
    parts = [file.read_bytes() for file in (*sorted(HERE.glob("*.py")), CONSTRAINTS)]
    parts.append("\n".join(requirements()).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def fetch_programs(cache: Path) -> list[Path]:
    """The Debian packages, of the first suite that has all. Raises Cannot where none has."""
    wanted = [package for packages in PROGRAMS.values() for package in packages] + FURTHER
    reasons = []
    for suite in SUITES:
        try:
            return Suite(suite, cache / "apt" / suite).fetch(wanted)
        except Cannot as why:
            reasons.append(f"{suite}: {why}")
    raise Cannot(f"no Python {PYTHON} by apt ({'; '.join(reasons)})")


def fetch_wheels(folder: Path) -> list[Path]:
    """A wheel of each requirement and of what it needs. Raises Cannot where pip has none."""
    machine = platform.machine()
    tags = [f"manylinux_2_28_{machine}", f"manylinux_2_17_{machine}", f"manylinux2014_{machine}"]
    place = [part for tag in [*tags, "any"] for part in ("--platform", tag)]
    abi = f"cp{PYTHON.replace('.', '')}"
    python = ["--python-version", PYTHON, "--implementation", "cp"]
    abis = ["--abi", abi, "--abi", "abi3", "--abi", "none"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", "download"]
    options = ["--only-binary=:all:", "--constraint", str(CONSTRAINTS), "--dest", str(folder)]
    run(*pip, *options, *python, *abis, *place, *requirements())
    return sorted(folder.glob("*.whl"))


def add_programs(store: Path, files: list[Path]) -> None:
    """Unpack the packages into one tree, and give each input its own `bin`."""
    tree = store / Path(f"{STORE}debian").name
    tree.mkdir()
    programs = {name_of(file): unpack(file, tree) for file in files}
    for name, packages in PROGRAMS.items():
        folder = store / Path(STORE + name).name / "bin"
        folder.mkdir(parents=True)
        for package in packages:
            for found in programs[package]:
                link = folder / found.name
                if not link.is_symlink():
                    link.symlink_to(f"{STORE}debian/{found.relative_to(tree)}")
    for name, alias, target in ALIASES:
        (store / Path(STORE + name).name / "bin" / alias).symlink_to(target)
    # virtual environments look for the standard library beside the interpreter's `bin`
    library = store / Path(f"{STORE}python3").name / "lib"
    library.mkdir()
    (library / f"python{PYTHON}").symlink_to(f"{STORE}debian/lib/python{PYTHON}")

    # these look for their own files below /usr; ./enter has links to them below /nix
    modules = tree / "lib" / f"python{PYTHON}"
    wheels = (*modules.glob("ensurepip/*.py"), *modules.glob("_sysconfig*.py"))
    for file in (tree / "bin" / "git", tree / "bin" / "perl", *wheels):
        file.write_bytes(re.sub(rb"/usr/(?=lib/|share/)", b"/nix/", file.read_bytes()))

    busybox = store / Path(f"{STORE}busybox").name / "bin"
    busybox.mkdir(parents=True)
    shutil.copy2(tree / "bin" / "busybox", busybox / "busybox")


def add_wheel(store: Path, wheel: Path) -> None:
    """Unpack a wheel into a path of its own, with its programs."""
    name = re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower()
    folder = store / Path(STORE + name).name
    site = folder / "lib" / f"python{PYTHON}" / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for listed in site.glob("*.dist-info/entry_points.txt"):
        entries = configparser.ConfigParser(delimiters="=")
        entries.read(listed)
        if entries.has_section("console_scripts"):
            _add_scripts(folder / "bin", dict(entries.items("console_scripts")))


def _add_scripts(folder: Path, scripts: Scripts) -> None:
    folder.mkdir()
    for name, entry in scripts.items():
        module, function = entry.split("[")[0].strip().split(":")
        file = folder / name
        file.write_text(
            f"#!{STORE}python3/bin/python{PYTHON}\n"
            f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        )
        file.chmod(0o755)


def add_a_warning(store: Path) -> None:
    """Let a dependency warn when it is imported, as newer ones than the locked may."""
    [file] = store.glob("*-starlette/lib/python*/site-packages/starlette/__init__.py")
    file.write_text(
        f"{file.read_text()}\nimport warnings\n\n"
        'warnings.warn("a newer release warns of something", DeprecationWarning)\n'
    )


def compile_modules(store: Path) -> None:
    """Compile all Python modules, as Nix's packages come compiled, and nobody can write here."""
    tree = store / Path(f"{STORE}debian").name
    loader = [*tree.glob("lib64/ld-linux-*"), *tree.glob("lib/ld-linux-*")][0]
    libraries = next(tree.glob("lib/*-linux-gnu"))
    python = [loader, Path("--library-path"), libraries, tree / "bin" / f"python{PYTHON}"]
    # the modules will be at other paths than here, and of other ages
    options = ["-q", "-s", str(store), "-p", "/nix/store", "--invalidation-mode", "unchecked-hash"]
    folders = [tree / "lib" / f"python{PYTHON}", *store.glob("*/lib/python*/site-packages")]
    subprocess.run(
        [*python, "-m", "compileall", *options, *folders],
        env={**os.environ, "PYTHONHOME": str(tree)},
        stdout=subprocess.DEVNULL,
        check=False,  # files that are templates do not compile
    )


def make(cache: Path) -> None:
    """Make `cache`/store anew. Raises Cannot."""
    store = cache / "store"
    shutil.rmtree(store, ignore_errors=True)
    for old in ("apt", "wheels"):
        shutil.rmtree(cache / old, ignore_errors=True)
    store.mkdir(parents=True)
    add_programs(store, fetch_programs(cache))
    bundled = store / Path(f"{STORE}debian").name / "share" / "python-wheels"
    for wheel in fetch_wheels(cache / "wheels"):
        if wheel.name.startswith(f"{PIP}-"):
            shutil.rmtree(bundled)
            bundled.mkdir()
            shutil.copy2(wheel, bundled)
        else:
            add_wheel(store, wheel)
    add_a_warning(store)
    compile_modules(store)
    for old in ("apt", "wheels"):
        shutil.rmtree(cache / old)
    run("chmod", "-R", "u+w,a+rX", store)


def main(cache: Path) -> int:
    """Make the store if it is not there; the exit code."""
    stamp = cache / "store.key"
    if stamp.exists() and stamp.read_text() == key():
        return 0
    stamp.unlink(missing_ok=True)
    os.umask(0o022)
    sys.stdout.write("nix-build-check: making the store (half a minute, 350 MB)\n")
    sys.stdout.flush()
    try:
        make(cache)
    except Cannot as why:
        sys.stdout.write(f"nix-build-check: SKIPPED: {why}\n")
        return 69
    stamp.write_text(key())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
