"""The command line: ``boltzmem VERB``, also ``python -m experiments VERB``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

VERBS = (
    "run",
    "plan",
    "status",
    "report",
    "plot",
    "export",
    "merge",
    "list",
    "store",
    "doctor",
)
_ADDRESS = re.compile(r"(\w+://|(redis|rediss|unix):)[^\s'\"]*")


class _Parser(argparse.ArgumentParser):
    """A parser that quotes no address of a server: it may hold a password."""

    def error(self, message: str) -> NoReturn:
        super().error(_ADDRESS.sub("(an address)", message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="boltzmem",
        description="Ablation studies of parent selection in evolutionary search.",
        epilog="Begin with: boltzmem list study; boltzmem run study=smoke",
    )
    parser.add_argument(
        "--version", action="version", version=f"boltzmem {version('boltzmem')}"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name in VERBS:
        module = import_module(f"experiments.commands.{name}")
        text = (module.__doc__ or "").strip()
        verb = verbs.add_parser(
            name,
            help=text.splitlines()[0],
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.arguments(verb)
        verb.set_defaults(run=module.run)
    return parser


def _parsed(
    parser: argparse.ArgumentParser, given: Sequence[str]
) -> argparse.Namespace:
    """Returns the options; overrides and flags may come in any order."""
    options, rest = parser.parse_known_args(given)
    strange = [text for text in rest if text.startswith("-")]
    if strange or (rest and not hasattr(options, "overrides")):
        parser.error(f"unrecognized arguments: {' '.join(strange or rest)}")
    if rest:
        options.overrides = [*options.overrides, *rest]
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb.

    Returns:
        0 if all went well, 1 if a cell failed or is missing, 2 for a configuration that
        is refused, 130 if it was interrupted.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] and given[0] in ("-sc", "--shell-completion"):
        from experiments.completion import answered

        return 0 if answered(given, VERBS) else 2
    _refuse_another_conf()
    # A policy of the user's own may lie in the working folder; last, so that it hides
    # nothing.
    if "" not in sys.path:
        sys.path.append(str(Path.cwd()))
    from experiments.composition import ConfigurationError
    from experiments.registration import PlanTampered
    from experiments.runner import FolderLocked

    options = _parsed(_parser(), given)
    try:
        return int(options.run(options))
    except (ConfigurationError, FolderLocked, PlanTampered) as error:
        print(f"boltzmem: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(f"boltzmem: {error.strerror or error}{where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "\nboltzmem: interrupted; what was finished is kept, and the same command "
            "goes on from there",
            file=sys.stderr,
        )
        return 130


def _refuse_another_conf() -> None:
    """Stops where a folder named ``conf`` hides ours.

    ``python -m experiments`` puts the working folder first on the path, so the ``conf`` of
    another project would be read silently.
    """
    import conf
    import experiments

    ours = Path(experiments.__file__).parent.parent
    theirs = conf.__file__
    if theirs is None or Path(theirs).parent.parent != ours:
        places = list(conf.__path__) if theirs is None else [theirs]
        print(
            f"boltzmem: another folder is called conf ({', '.join(map(str, places))}) and "
            f"comes before ours ({ours / 'conf'}) on Python's path: rename it, or take the "
            "folder that holds it off PYTHONPATH (python -m puts the working folder there)",
            file=sys.stderr,
        )
        raise SystemExit(2)


if __name__ == "__main__":
    sys.exit(main())
