"""Static analysis of plug-ins: finds a class in the source text without executing any of it."""

import ast
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.machinery import ModuleSpec
from inspect import Parameter, Signature
from pathlib import Path
from types import CodeType

from airwnd.plugins.roles import BASES, Role

#: Maximum size of a text in bytes: its syntax tree takes hundreds of times as much memory.
_LARGEST = 1 << 20


class RefusedError(Exception):
    """A plug-in was not found or is invalid.

    Attributes
    ----------
    key
        Key of the scenario that caused the error.
    place
        File and line where the plug-in failed; ``None`` if it was not executed.
    """

    def __init__(self, key: str, message: str, place: str | None = None) -> None:
        super().__init__(message)
        self.key = key
        self.place = place


@dataclass(frozen=True)
class Source:
    """A parsed Python source text.

    Attributes
    ----------
    path
        Absolute path of the file.
    text
        Content of the file.
    package
        Package that relative imports start from; empty for a file that is not a module.
    tree, code
        The parsed and the compiled text.
    """

    path: Path
    text: bytes = field(repr=False)
    package: str
    tree: ast.Module = field(repr=False, compare=False)
    code: CodeType = field(repr=False, compare=False)

    @classmethod
    def read(cls, path: Path, shown: str, package: str = "") -> "Source":
        """Read and parse a file; `shown` names it in messages about its content."""
        try:
            if path.exists() and not path.is_file():
                raise RefusedError("class", f"{path} cannot be read: it is not a regular file")
            if path.stat().st_size > _LARGEST:
                raise RefusedError("class", f"{path} cannot be read: it has more than {_LARGEST} bytes")
            text = path.read_bytes()
        except OSError as error:
            raise RefusedError("class", f"{path} cannot be read: {error.strerror}") from None
        except ValueError as error:  # a name that no file can have
            raise RefusedError("class", f"{shown!r} cannot be read: {error}") from None
        return _parse(path.absolute(), text, package, shown)

    @classmethod
    def of_module(cls, name: str) -> "Source":
        """Read the text of a module without importing it or its parent packages."""
        spec = _spec(name)
        if spec.origin is None or not spec.origin.endswith(".py"):
            raise RefusedError("class", f"{name}: it has no Python text that could be checked")
        return cls.read(Path(spec.origin), name, spec.parent or "")

    @cached_property
    def bindings(self) -> "dict[str, _Bound]":
        """Names bound at top level; ``None``: the value is known only after execution."""
        found: dict[str, _Bound] = {}
        for statement in self.tree.body:
            if isinstance(statement, ast.ClassDef):
                found[statement.name] = statement
            elif isinstance(statement, ast.Import):
                for alias in statement.names:
                    top = alias.name.partition(".")[0]
                    found[alias.asname or top] = _Imported(alias.name if alias.asname else top, None)
            elif isinstance(statement, ast.ImportFrom):
                module = self._module(statement)
                for alias in statement.names:
                    found[alias.asname or alias.name] = _Imported(module, alias.name) if module else None
            else:
                found.update(dict.fromkeys(_bound_within(statement)))
        return found

    def _module(self, statement: ast.ImportFrom) -> str:
        """Return the module that a statement imports from; empty for a relative import outside a package."""
        if not statement.level:
            return statement.module or ""
        packages = self.package.split(".") if self.package else []
        around = packages[: len(packages) - statement.level + 1]
        return ".".join([*around, *filter(None, [statement.module])]) if around else ""


@lru_cache(maxsize=256)
def _parse(path: Path, text: bytes, package: str, shown: str) -> Source:
    try:
        tree = ast.parse(text, str(path))
        return Source(path, text, package, tree, compile(tree, str(path), "exec", dont_inherit=True))
    except SyntaxError as error:
        at = shown if error.lineno is None else f"{shown}:{error.lineno}"
        raise RefusedError("class", f"{at}: {type(error).__name__}: {error.msg}", at) from error
    except ValueError as error:
        raise RefusedError("class", f"{shown}: {error}", shown) from error
    except (RecursionError, MemoryError) as error:
        raise RefusedError("class", f"{shown}: its expressions are nested too deeply", shown) from error


@dataclass(frozen=True)
class Inspected:
    """Result of the static analysis of a class.

    Attributes
    ----------
    name
        Name of the class.
    sources
        Texts that define the class (first) and its bases, except those of the standard library and airwnd.
    complete
        Whether all bases were found. A base that is the result of a call, for example, is not found without
        executing code.
    role
        Role of the first base class of airwnd that was found; ``None``: none was found.
    classes
        Class statements of the class and its bases.
    """

    name: str
    sources: tuple[Source, ...]
    complete: bool
    role: Role | None
    classes: tuple[ast.ClassDef, ...] = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 digest of the texts."""
        texts = dict.fromkeys(source.text for source in self.sources)
        return hashlib.sha256(b"".join(texts)).hexdigest()

    @property
    def plain(self) -> bool:
        """Whether its text fully defines the class: no decorators, metaclasses or unknown bases."""
        return self.complete and not any(each.decorator_list or each.keywords for each in self.classes)

    def check(self, place: str, role: Role) -> None:
        """Raise an error for a class that certainly does not have this role; `place` names its file."""
        if self.role is not role and (self.complete or self.role):
            raise RefusedError("class", f"{place}: {self.name} is not a subclass of airwnd.{role.base}")
        if not self.plain:
            return
        members = {name for each in self.classes for name in _members(each)}
        lacking = [] if "*" in members else [name for name in role.abstract if name not in members]
        if lacking:
            raise RefusedError("class", f"{place}: {self.name} lacks {' and '.join(lacking)}")

    def signature(self, role: Role) -> Signature | None:
        """Return the constructor's signature in a role; ``None`` if it is known only after execution.

        A default that is not a literal is shown as ``...``.
        """
        if not self.plain or any(len(each.bases) > 1 for each in self.classes):
            return None
        for each in self.classes:
            members = _members(each)
            constructor = members.get("__init__")
            if "*" in members or "__new__" in members:
                return None
            if isinstance(constructor, ast.FunctionDef):
                return None if constructor.decorator_list else _signature(constructor.args)
            if "__init__" in members:
                return None
        return Signature([Parameter(role.first, Parameter.POSITIONAL_OR_KEYWORD)])


def inspect_class(source: Source, name: str, place: str, role: Role) -> Inspected:
    """Find a class at the top level of a text; raise an error if it certainly does not have a role.

    Parameters
    ----------
    source, name
        Text, and name of the class in it.
    place
        Name of the file or module in messages.
    role
        What the class must be.
    """
    if source.bindings[name] is None:
        message = f"{place}: {name} must be a class statement or an import at the top level"
        raise RefusedError("class", message)
    inspected = _inspect(source, name)
    inspected.check(place, role)
    return inspected


def _inspect(source: Source, name: str) -> Inspected:
    walk = _Walk()
    walk.follow(source, name)
    classes = tuple(each for _, each in walk.classes)
    return Inspected(name, tuple(walk.sources), walk.complete, walk.role, classes)


def class_names(source: Source, role: Role) -> list[str]:
    """List the classes of a text that may have a role."""
    names = []
    for name, bound in source.bindings.items():
        if isinstance(bound, ast.ClassDef):
            inspected = _inspect(source, name)
            if inspected.role is role or not (inspected.role or inspected.complete):
                names.append(name)
    return sorted(names)


def is_outside(module: str) -> bool:
    """Return whether a module belongs to airwnd or the standard library, which digests leave out."""
    root = module.partition(".")[0]
    return root == "airwnd" or root in sys.stdlib_module_names


@dataclass(frozen=True, slots=True)
class _Imported:
    """An imported module, or a name imported from it."""

    module: str
    name: str | None


_Bound = ast.ClassDef | _Imported | None


class _Walk:
    """Collects a class and its bases, in the order of method lookup."""

    def __init__(self) -> None:
        self.classes: list[tuple[Source, ast.ClassDef]] = []
        self.complete = True
        self.role: Role | None = None

    @property
    def sources(self) -> dict[Source, None]:
        return {source: None for source, _ in self.classes}

    def follow(self, source: Source, name: str) -> None:
        """Collect the class bound to a name, with its bases."""
        bound = source.bindings.get(name)
        if isinstance(bound, ast.ClassDef):
            if all(bound is not known for _, known in self.classes):
                self.classes.append((source, bound))
                for base in bound.bases:
                    self._follow_base(source, base)
        elif isinstance(bound, _Imported):
            if bound.name is not None:  # otherwise a module, not a class
                self._follow_import(bound.module, bound.name)
        elif name != "object" or name in source.bindings:
            self.complete = False

    def _follow_base(self, source: Source, base: ast.expr) -> None:
        if isinstance(base, ast.Subscript):  # Generic[T]
            base = base.value
        words = _dotted(base)
        if len(words) == 1:
            self.follow(source, words[0])
            return
        module = source.bindings.get(words[0]) if words else None
        if isinstance(module, _Imported):
            path = [module.module, *filter(None, [module.name]), *words[1:-1]]
            self._follow_import(".".join(path), words[-1])
        else:
            self.complete = False

    def _follow_import(self, module: str, name: str) -> None:
        if module.partition(".")[0] == "airwnd" and name in BASES:
            self.role = self.role or BASES[name]
        elif not is_outside(module):
            try:
                source = Source.of_module(module)
            except RefusedError:
                self.complete = False
            else:
                self.follow(source, name)


def _bound_within(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement may bind."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]


def _members(cls: ast.ClassDef) -> dict[str, ast.stmt]:
    """Map the names bound in a class to their statements; ``*``: a statement that may bind any name."""
    found: dict[str, ast.stmt] = {}
    for statement in cls.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            found.update(dict.fromkeys(_bound_within(statement), statement))
        elif not isinstance(statement, ast.Expr | ast.Pass):
            found["*"] = statement
    return found


def _dotted(expression: ast.expr) -> list[str]:
    """Split ``a.b.c`` into its words; empty for any other expression."""
    if isinstance(expression, ast.Name):
        return [expression.id]
    if isinstance(expression, ast.Attribute) and (words := _dotted(expression.value)):
        return [*words, expression.attr]
    return []


def _signature(arguments: ast.arguments) -> Signature | None:
    """Return the signature of a method without ``self``."""
    positional = [*arguments.posonlyargs, *arguments.args]
    kinds = [
        Parameter.POSITIONAL_ONLY if each in arguments.posonlyargs else Parameter.POSITIONAL_OR_KEYWORD
        for each in positional
    ]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    parameters = [
        Parameter(each.arg, kind, default=_default(default))
        for each, kind, default in zip(positional, kinds, defaults, strict=True)
    ]
    if not parameters:
        return None
    del parameters[0]
    if arguments.vararg:
        parameters.append(Parameter(arguments.vararg.arg, Parameter.VAR_POSITIONAL))
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(Parameter(each.arg, Parameter.KEYWORD_ONLY, default=_default(default)))
    if arguments.kwarg:
        parameters.append(Parameter(arguments.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(parameters)


def _default(expression: ast.expr | None) -> object:
    if expression is None:
        return Parameter.empty
    try:
        return ast.literal_eval(expression)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...


def _spec(name: str) -> ModuleSpec:
    """Find a module as the import system would, without importing its parent packages."""
    around, _, last = name.rpartition(".")
    path = _spec(around).submodule_search_locations if around else None
    for finder in sys.meta_path if last and (path or not around) else ():
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec
    raise RefusedError("class", f"there is no Python module `{name}`")
