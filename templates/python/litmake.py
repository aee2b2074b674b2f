"""What memory models allow, whether compilers keep to it, and whether a change to code is legal.

    import litmake
    litmake.simulate(test)["states"]               the outcomes that a model allows
    litmake.explain(test, "0:r=0; 1:r=0")          why one is forbidden, or how it comes about
    litmake.check(test, "clang-aarch64-O2")        the findings of a compiler
    litmake.tv(before, after)["summary"]           whether some context tells two functions apart

Tests and functions are texts. Each function runs the program `litmake` that was installed with this module, and gives
the JSON that it prints, as it is: fields are added in later versions, and none changes its meaning or goes away within
one first number of the version (`litmake schema report` has the schema of reports). `options` are options of the
command line, such as ["--unroll", "3"].
"""

import json
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile

__all__ = ["Error", "check", "explain", "simulate", "tv"]


class Error(Exception):
    """What litmake says of an input that it cannot read, or of work that it could not do."""


def program():
    """The path of the program: beside this module, in the scripts of this Python, or in PATH."""
    here = pathlib.Path(__file__).resolve()
    beside = [parent / "bin" / "litmake" for parent in here.parents]
    for path in [pathlib.Path(sysconfig.get_path("scripts")) / "litmake", *beside]:
        if path.is_file():
            return str(path)
    found = shutil.which("litmake")
    if found is None:
        raise Error("the program litmake is not installed")
    return found


def _run(arguments, text, good=(0,)):
    done = subprocess.run([program(), *arguments], input=text, capture_output=True, text=True, check=False)
    if done.returncode not in good:
        raise Error(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def _model(model):
    return [] if model is None else ["--model", str(model)]


def simulate(test, model=None, options=()):
    """The outcomes that a model allows for a test: `states`, whether the condition `holds`, and more.

    The model is a name (`litmake list models`) or the path of a cat file; without one, that of the test's dialect.
    """
    return json.loads(_run(["sim", "--json", *_model(model), *options, "-"], test))


def explain(test, state="condition", model=None, options=()):
    """Why a model forbids a state or a proposition of a test, or an execution that has it; as text."""
    return _run(["sim", "--explain", state, *_model(model), *options, "-"], test)


def check(test, *profiles, options=()):
    """The report on compilers for a C test: `findings`, one for each bug. Without profiles, those that are installed."""
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    # 1: there is a new finding. 3: something was not judged; the report says what.
    return json.loads(_run(["check", "--json", *chosen, *options, "-"], test, good=(0, 1, 3)))


def tv(before, after=None, model=None, options=()):
    """Whether some context tells two functions apart: of each of the `pairs` the `verdict`, and a `summary`.

    Both are LLVM's intermediate code; without `after`, `before` has `@src` and `@tgt`.
    """
    limits = [*_model(model), *options]
    if after is None:
        return json.loads(_run(["tv", "--json", *limits, "-"], before, good=(0, 1, 3)))
    with tempfile.NamedTemporaryFile("w", suffix=".ll") as file:
        file.write(before)
        file.flush()
        return json.loads(_run(["tv", "--json", *limits, file.name, "-"], after, good=(0, 1, 3)))
