"""Says what this installation has: versions, cores, threads, memory, disk, extras.

boltzmem doctor
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
from importlib.metadata import PackageNotFoundError, metadata, version
from importlib.util import find_spec
from pathlib import Path

from experiments.cells import code_version
from experiments.engines.processes import free_memory

#: What an optional package would give, by the name that it is imported by.
EXTRAS = {
    "pytest": "runs the tests (make test)",
    "hypothesis": "finds counterexamples to the laws in the tests",
    "ruff": "checks format and lint (make check)",
    "mypy": "checks types (make check)",
}
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="folder whose disk to look at (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0, or 1 if a needed package is missing."""
    missing = 0
    print(f"python      {platform.python_version()} on {platform.platform()}")
    print(f"code        {code_version()}")
    print(f"cores       {len(os.sched_getaffinity(0))} usable of {os.cpu_count()}")
    for name in _THREADS:
        print(f"threads     {name}={os.environ.get(name, 'unset')}; workers use 1")
    print(f"memory      {free_memory() / 2**30:.1f} GiB free")
    folder = options.results
    while not folder.exists():
        folder = folder.absolute().parent
    disk = shutil.disk_usage(folder)
    print(f"disk        {disk.free / 2**30:.1f} GiB free below {options.results}")
    for package in _needed():
        try:
            print(f"package     {package} {version(package)}")
        except PackageNotFoundError:
            missing += 1
            print(f"package     {package} is MISSING: install boltzmem again")
    for package, use in EXTRAS.items():
        there = "is there" if find_spec(package) else "is not installed"
        print(f"extra       {package} {there}: {use}")
    return 1 if missing else 0


def _needed() -> list[str]:
    """Returns the names of the packages that this one needs."""
    wanted = metadata("boltzmem").get_all("Requires-Dist") or []
    return sorted(
        re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        for line in wanted
        if "extra ==" not in line
    )
