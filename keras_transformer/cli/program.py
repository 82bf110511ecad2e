"""A console program: flags, help, and the one way a user's mistake ends it.

Over `absl.flags` with a private `FlagValues`, so that several programs can live in one process
(tests) and importing a module defines no global flags. No TensorFlow is imported here.
"""

from __future__ import annotations

import errno
import glob
import io
import os
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from absl import flags

from keras_transformer.cli.output_places import why_no_file_can_be_made
from keras_transformer.cli.quiet import quiet_tensorflow
from keras_transformer.errors import UserError

USER_ERROR_STATUS = 2


class Flags:
    """The parsed values, as attributes; `given(name)` says whether the command line set one."""

    def __init__(self, values: flags.FlagValues):
        self._values = values

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name].value
        except KeyError:
            raise AttributeError(name) from None

    def given(self, name: str) -> bool:
        """True if the flag stood on the command line (or in a `--flagfile`)."""
        return bool(self._values[name].present)

    def as_dict(self) -> dict[str, Any]:
        """Every flag that was given, with its value."""
        return {name: flag.value for name, flag in sorted(self._items()) if flag.present}

    def _items(self) -> list[tuple[str, Any]]:
        return [(name, self._values[name]) for name in self._values]


class Program:
    """Flags and help of one console script.

    Args:
        name: the script's name, `kt-bleu`.
        summary: what it does, one or a few sentences.
        examples: command lines shown at the end of `--help`.
    """

    def __init__(self, name: str, summary: str, examples: Sequence[str] = ()):
        self.name = name
        self.summary = summary
        self.examples = examples
        # False where `main` was called with arguments, from a process that may do other things too.
        self.owns_process = False
        self._values = flags.FlagValues()
        self._order: list[str] = []
        self._ignored: dict[str, str] = {}
        self._refused: dict[str, tuple[str, str]] = {}

    def string(self, name: str, default: str | None, help: str) -> None:
        self._order.append(name)
        flags.DEFINE_string(name, default, help, flag_values=self._values)

    def integer(
        self,
        name: str,
        default: int | None,
        help: str,
        lower_bound: int | None = None,
        upper_bound: int | None = None,
    ) -> None:
        self._order.append(name)
        flags.DEFINE_integer(name, default, help, lower_bound, upper_bound, self._values)

    def float(
        self,
        name: str,
        default: float | None,  # type: ignore[valid-type]
        help: str,
        lower_bound: float | None = None,  # type: ignore[valid-type]
        upper_bound: float | None = None,  # type: ignore[valid-type]
    ) -> None:
        self._order.append(name)
        flags.DEFINE_float(name, default, help, lower_bound, upper_bound, self._values)

    def boolean(self, name: str, default: bool | None, help: str) -> None:
        self._order.append(name)
        flags.DEFINE_boolean(name, default, help, flag_values=self._values)

    def enum(self, name: str, default: str | None, choices: Sequence[str], help: str) -> None:
        self._order.append(name)
        flags.DEFINE_enum(name, default, list(choices), help, flag_values=self._values)

    def comma_list(self, name: str, default: Sequence[str] | None, help: str) -> None:
        """A flag of values with commas between; the value is a list."""
        self._order.append(name)
        flags.DEFINE_list(name, default, help, flag_values=self._values)

    def multi(self, name: str, help: str) -> None:
        """A flag that may be given several times; the value is a list."""
        self._order.append(name)
        flags.DEFINE_multi_string(name, [], help, flag_values=self._values)

    def alias(self, name: str, of: str) -> None:
        """A second name for a flag, as Tensor2Tensor called it."""
        flags.DEFINE_alias(name, of, flag_values=self._values)

    def ignored(self, name: str, why: str) -> None:
        """A Tensor2Tensor flag that means nothing here: accepted with one warning."""
        self._ignored[name] = why
        self._any_value(name, why)

    def refused(self, name: str, way_out: str, default: str = "false") -> None:
        """A Tensor2Tensor flag whose effect does not exist here: refused with the way out, unless
        its value is Tensor2Tensor's default."""
        self._refused[name] = (way_out, default)
        self._any_value(name, way_out)

    def _any_value(self, name: str, help: str) -> None:
        """A flag of any type: `--name`, `--noname` (read as true, false) or `--name=value`."""
        flag: flags.Flag = flags.Flag(flags.ArgumentParser(), None, name, None, help)
        flag.boolean = True
        flags.DEFINE_flag(flag, self._values)

    def help(self) -> str:
        """The text of `--help`, at most 100 columns wide."""
        lines = [f"{self.name}: {self.summary}", "", f"usage: {self.name} [--flag=value ...]", ""]
        for name in self._order:
            flag = self._values[name]
            shown = f"--[no]{name}" if flag.boolean else f"--{name}"
            if isinstance(flag.parser, flags.EnumParser):
                shown += "=" + "|".join(flag.parser.enum_values)
            default = flag.default_as_str
            lines.append(f"  {shown}" + (f"  (default {default})" if default else ""))
            text = re.sub(r"^<[^>]*>: ", "", flag.help)  # absl puts an enum's values in front
            lines += textwrap.wrap(text, 92, initial_indent=" " * 6, subsequent_indent=" " * 6)
        lines += ["", "  --flagfile=FILE  reads flags from a file, one a line", "  --help"]
        if self.examples:
            lines += ["", "examples:"] + [f"  {example}" for example in self.examples]
        return "\n".join(lines) + "\n"

    def main(self, run: Callable[[Flags], int | None]) -> Callable[..., int]:
        """The script's entry point: `main(argv=None) -> exit status`; argv without the name."""

        def entry(argv: Sequence[str] | None = None) -> int:
            self.owns_process = argv is None
            arguments = list(sys.argv[1:] if argv is None else argv)
            _print_what_the_terminal_cannot_show_as_escapes()
            try:
                if any(a in ("--help", "-help", "-h", "--helpfull") for a in arguments):
                    print(self.help(), end="", flush=True)
                    return 0
                quiet_tensorflow()
                return run(self._parse(arguments)) or 0
            except UserError as error:
                print(f"{self.name}: {error}", file=sys.stderr, flush=True)
                return USER_ERROR_STATUS
            except KeyboardInterrupt:
                print(f"{self.name}: interrupted", file=sys.stderr, flush=True)
                return 128 + signal.SIGINT
            except BrokenPipeError:
                return _end_quietly_on_a_closed_pipe()
            except OSError as error:
                message = place_error(error)
                if message is None:
                    raise
                print(f"{self.name}: {message}", file=sys.stderr, flush=True)
                return USER_ERROR_STATUS
            except Exception as error:
                if not _is_damaged_data(error):
                    raise
                data_dir = self._values["data_dir"].value if "data_dir" in self._values else None
                thing = _damaged_shard(data_dir) or "a file of the data"
                print(
                    f"{self.name}: {thing} is cut off or damaged: {error}; make the"
                    " data again with kt-datagen in an empty --data_dir, or restore it from a copy",
                    file=sys.stderr,
                    flush=True,
                )
                return USER_ERROR_STATUS

        return entry

    def _parse(self, arguments: list[str]) -> Flags:
        self._values.unparse_flags()
        for name in self._values:
            self._values[name].unparse()
        try:
            rest = self._values([self.name, *arguments])[1:]
        except flags.Error as error:
            raise UserError(f"{error} (see {self.name} --help)") from None
        except UnicodeError as error:
            raise UserError(f"--flagfile is not a text file in UTF-8: {error}") from None
        for name in self._values:
            value = self._values[name].value
            if isinstance(value, float) and value != value:  # bounds let NaN through
                raise UserError(f"--{name}=nan is not a number (see {self.name} --help)")
        if rest:
            raise UserError(
                f"{rest[0]!r} stands alone: everything is given as --flag=value"
                f" (see {self.name} --help)"
            )
        for name, (way_out, default) in self._refused.items():
            flag = self._values[name]
            if flag.present and str(flag.value).lower() != default:
                raise UserError(f"--{name} does not exist here: {way_out}")
        for name, why in self._ignored.items():
            if self._values[name].present:
                print(f"{self.name}: --{name} is ignored: {why}", file=sys.stderr, flush=True)
        return Flags(self._values)


def _print_what_the_terminal_cannot_show_as_escapes() -> None:
    # A locale without the letter, or half of a surrogate pair, must not end hours of work.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _is_damaged_data(error: Exception) -> bool:
    # By name: a program that has not loaded TensorFlow must not load it to compare classes.
    return type(error).__name__ == "DataLossError" and type(error).__module__.startswith(
        "tensorflow."
    )


def _damaged_shard(data_dir: str | None) -> str | None:
    """The shard that TensorFlow's message does not name: the first that cannot be read."""
    import tensorflow as tf  # it is loaded: the error came from it

    for path in sorted(
        glob.glob(os.path.join(glob.escape(data_dir), "*-of-*")) if data_dir else []
    ):
        try:
            for _ in tf.data.TFRecordDataset(path):
                pass
        except tf.errors.OpError:
            return path
    return None


def place_error(error: OSError) -> str | None:
    """A message for what the place of a file forbids; None for every other operating-system error.

    Such an error may come from any write of any program: the disk fills up, or a folder that was
    named is a file or may not be written. It is for the user to mend, and a traceback hides that.
    """
    way_out = _WAYS_OUT.get(error.errno or 0)
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if name is not None]
    if way_out is None or (error.errno == errno.ENOENT and _may_have_vanished(names)):
        return None
    thing = " and ".join(names) or "a file"
    return f"{thing} cannot be read or written: {error.strerror}; {way_out}"


def _may_have_vanished(names: list[str]) -> bool:
    # Where no folder is missing, and each takes files: a file that a user names is looked for
    # before it is read, so what is not there any more, or never was, is for a traceback to tell.
    folders = [os.path.dirname(os.path.abspath(name)) for name in names]
    return all(os.path.isdir(each) and not why_no_file_can_be_made(each) for each in folders)


_OTHER_FOLDER = "name another folder"
_WAYS_OUT = {
    errno.ENOSPC: "make room there, or name a folder on another disk",
    errno.EDQUOT: "make room there, or name a folder on another disk",
    errno.EFBIG: "name a folder on a disk that takes larger files",
    errno.EROFS: _OTHER_FOLDER,
    errno.EACCES: "change its permissions, or name another folder",
    errno.EPERM: "change its permissions, or name another folder",
    errno.ENOENT: "make the folder that holds it, or name another",
    errno.ENOTDIR: "a part of the path is a file; name another folder",
    errno.EISDIR: "a file is needed where a folder is; name another",
    errno.EEXIST: "a folder is needed where a file is; name another",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ELOOP: "its links lead in a circle; name another",
    errno.EIO: "the disk or network drive fails; name a folder on another",
    errno.ESTALE: "the network drive has gone; mount it again, or name another folder",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "close other programs: the machine has no open file left",
}


def _end_quietly_on_a_closed_pipe() -> int:
    # The reader (head, less) has gone; without this the interpreter complains once more at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE
