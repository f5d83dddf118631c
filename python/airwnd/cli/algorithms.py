"""``airwnd list`` and ``airwnd explain``: algorithms, stacks, presets, keys, and columns of results."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from airwnd.cli import completion

if TYPE_CHECKING:
    from airwnd.vocabulary.algorithms import Algorithm, Family, Parameter
    from airwnd.vocabulary.columns import Column, Table
    from airwnd.vocabulary.glossary import Term
    from airwnd.vocabulary.presets import Preset
    from airwnd.vocabulary.quirks import Compat, Quirk
    from airwnd.vocabulary.sections import Section
    from airwnd.vocabulary.stacks import Stack
    from airwnd.vocabulary.topics import Topic
    from airwnd.vocabulary.written import Written

# Listed next to the families of algorithms.
COMPAT = "compat"
PRESET = "preset"
STACK = "stack"


@click.command(name="list")
@click.argument("family", required=False, shell_complete=completion.families)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object per family.")
def list_(family: str | None, as_json: bool) -> None:
    """List available algorithms, TCP stacks, presets and simulators with quirks.

    With FAMILY, list the members of that family with their sources.
    """
    from airwnd.vocabulary import algorithms

    others = {STACK: _stacks, PRESET: _presets, COMPAT: _compats}
    if family in others:
        families = [others[family]()]
    elif family:
        families = [algorithms.family(family)]
    else:
        families = [*algorithms.catalogue(), *(make() for make in others.values())]
    if as_json:
        click.echo(json.dumps([_listed(each) for each in families], ensure_ascii=False))
        return
    for index, each in enumerate(families):
        if index:
            click.echo()
        _list_family(each, with_sources=family is not None)


def _listed(family: "Family") -> dict[str, Any]:
    members = [
        {key: getattr(member, key) for key in ("name", "summary", "source")} for member in family.members
    ]
    return {"name": family.name, "summary": family.summary, "members": members}


def _list_family(family: "Family", *, with_sources: bool) -> None:
    _heading(family.name, f"  {family.summary}")
    longest = max(len(member.name) for member in family.members)
    for member in family.members:
        source = f" [{member.source}]" if with_sources and member.source else ""
        _paragraph(f"{member.name:<{longest}}  {member.summary}{source}", 2, longest + 4)


def _stacks() -> "Family":
    """Present the TCP stacks as a family."""
    from airwnd.vocabulary.algorithms import Algorithm, Family
    from airwnd.vocabulary.sections import sections
    from airwnd.vocabulary.stacks import stacks

    key = sections()["tcp"].keys[STACK]
    members = [Algorithm(name, STACK, key.words[name], "", "", ()) for name in stacks()]
    return Family(STACK, "TCP stack: defaults of TCP at both endpoints (`tcp.stack`).", tuple(members))


def _presets() -> "Family":
    """Present the presets as a family."""
    from airwnd.vocabulary.algorithms import Algorithm, Family
    from airwnd.vocabulary.presets import presets

    members = [Algorithm(each.name, PRESET, each.summary, "", "", ()) for each in presets()]
    return Family(PRESET, "Another simulator's values for keys that a scenario does not set.", tuple(members))


def _compats() -> "Family":
    """Present the simulators with quirks as a family."""
    from airwnd.vocabulary.algorithms import Algorithm, Family
    from airwnd.vocabulary.quirks import compats

    members = [Algorithm(each.name, COMPAT, each.summary, "", "", ()) for each in compats()]
    return Family(COMPAT, "Behaviour that exists only because another simulator has it.", tuple(members))


@click.command()
@click.argument("name", nargs=-1, metavar="[NAME]", shell_complete=completion.topics)
@click.option("--all", "every", is_flag=True, help="Show advanced and expert parameters, too.")
@click.option(
    "--limits", is_flag=True, help="Print the limits of the models: all, or those about a topic or word NAME."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object per match.")
def explain(name: tuple[str, ...], every: bool, limits: bool, as_json: bool) -> None:
    """Explain an algorithm, a scenario key, a TCP stack, a preset, a results column or a term.

    Of an algorithm or a section it shows the basic parameters: those that a first study sets.

    \b
    NAME
    drwa, rwnd/drwa         algorithm: equations, parameters, sources
    linux, ns3.44, preset   TCP stack or preset: the values that it sets
    compat/ns3.44           quirks of another simulator
    cc                      family of algorithms
    rlc, flow.cc            section or key of a scenario
    rlc.queue.buffer        parameter of the algorithms that a key selects
    pdf, flows.delay_ms_p95 columns of the results: unit, meaning
    cwnd, standing queue    term of the glossary: meaning, unit, source
    """  # noqa: D301 (Click requires the backspace)
    from airwnd.vocabulary.topics import find

    if limits:
        show_limits(" ".join(name), as_json=as_json)
        return
    if not name:
        raise click.UsageError("Missing argument 'NAME'.", click.get_current_context())
    topics = find(" ".join(name))
    if as_json:
        click.echo(json.dumps([_as_json(topic) for topic in topics], default=_inner, ensure_ascii=False))
        return
    for index, topic in enumerate(_merged(topics)):
        if index:
            click.echo()
        _explain(topic, every=every)


def _as_json(topic: "Topic") -> dict[str, Any]:
    found = {"kind": type(topic.what).__name__.lower(), **_inner(topic.what), "name": topic.name}
    further = {"toml": _toml(topic), "playground": live(topic)}
    return {**found, **{key: value for key, value in further.items() if value}}


def _inner(value: Any) -> Any:
    """Convert a declaration, or a read-only mapping, to a JSON object."""
    if not hasattr(value, "__dataclass_fields__"):
        return dict(value)
    found = {key: getattr(value, key) for key in value.__dataclass_fields__}
    if found.get("type") in {"number", "integer", "text"}:
        found["range"] = [each if abs(each) < float("inf") else None for each in value.range]
    return found


def _merged(topics: Iterable["Topic"]) -> Iterator["Topic"]:
    """Merge identical parameters of several algorithms into one entry."""
    alike: dict[str, Topic] = {}
    for topic in topics:
        key = repr(topic.what) if topic.holder else f"{type(topic.what)} {topic.name}"
        known = alike.get(key)
        alike[key] = replace(known, name=f"{known.name}, {topic.name}") if known else topic
    yield from alike.values()


def _explain(topic: "Topic", *, every: bool) -> None:
    from airwnd.vocabulary.algorithms import Algorithm, Family, Parameter
    from airwnd.vocabulary.columns import Column, Table
    from airwnd.vocabulary.glossary import Term
    from airwnd.vocabulary.presets import Preset
    from airwnd.vocabulary.quirks import Compat
    from airwnd.vocabulary.sections import Section

    match topic.what:
        case Algorithm() as algorithm:
            _explain_algorithm(algorithm, every=every)
        case Family() as family:
            _list_family(family, with_sources=True)
        case Preset() as preset:
            _explain_preset(preset)
        case Compat() as compat:
            _explain_compat(compat)
        case Section() as section:
            _explain_section(section, every=every)
        case Table() as table:
            _explain_table(table)
        case Column() as column:
            _explain_column(column, topic.name)
        case Parameter() as parameter:
            _explain_parameter(parameter, topic.name)
        case Term() as term:
            _explain_term(term)
        case stack:
            _explain_stack(stack, every=every)
    _explain_use(topic)


def _explain_use(topic: "Topic") -> None:
    """Print how a scenario uses a topic, and the command that shows it live."""
    if toml := _toml(topic):
        click.echo("\nIn a scenario")
        for line in toml.splitlines():
            click.echo(f"  {line}")
    if live(topic):
        click.echo(f"\nLive in a browser: `airwnd play --show {topic.name.partition(', ')[0]}`")


def live(topic: "Topic") -> str | None:
    """Return the fragment of the playground's address that shows a topic; ``None``: none does."""
    from airwnd.scenario.play import showing
    from airwnd.vocabulary.algorithms import Algorithm

    if isinstance(topic.what, Algorithm) and not any(each.required for each in topic.what.params):
        family, name = topic.what.family, topic.what.name
        if found := showing.of_algorithm(family, name):
            return found
    toml = _toml(topic)
    return showing.of_toml(toml) if toml else None


def _toml(topic: "Topic") -> str:
    """Return a fragment of a scenario that uses the topic."""
    from airwnd.vocabulary import fragments
    from airwnd.vocabulary.algorithms import Algorithm, Parameter
    from airwnd.vocabulary.presets import Preset
    from airwnd.vocabulary.quirks import Compat
    from airwnd.vocabulary.sections import sections
    from airwnd.vocabulary.stacks import Stack

    match topic.what:
        case Algorithm() as algorithm:
            return fragments.of_algorithm(algorithm)
        case (Preset() | Compat()) as chosen:
            return f'{PRESET if isinstance(chosen, Preset) else COMPAT} = "{chosen.name}"'
        case Stack(name=name):
            return f'[tcp]\nstack = "{name}"'
        case Parameter() as parameter if topic.holder:
            return fragments.of_algorithm(topic.holder, parameter)
        case Parameter() as parameter:
            return fragments.of_key(sections()[topic.name.rpartition(".")[0]], parameter)
    return ""


def _explain_algorithm(algorithm: "Algorithm", *, every: bool) -> None:
    _heading(algorithm.name, f"  ({algorithm.family})")
    _paragraph(algorithm.summary)
    click.echo()
    _paragraph(f"Source: {algorithm.source}", 0, 2)
    _details(algorithm.details)
    click.echo("\nParameters" if algorithm.params else "\nNo parameters.")
    for parameter in _shown(algorithm.params, every=every):
        _explain_parameter(parameter, parameter.name)


def _shown(parameters: "Iterable[Parameter]", *, every: bool) -> "Iterator[Parameter]":
    """Yield the basic parameters, or all; afterwards print how many the others are."""
    from airwnd.vocabulary.algorithms import LEVELS

    hidden = dict.fromkeys(LEVELS, 0)
    for parameter in parameters:
        if every or parameter.level == LEVELS[0]:
            yield parameter
        else:
            hidden[parameter.level] += 1
    if counts := ", ".join(f"{number} {level}" for level, number in hidden.items() if number):
        _paragraph(f"{sum(hidden.values())} more with --all: {counts}.", 2, 6)


def _explain_section(section: "Section", *, every: bool) -> None:
    _heading(section.name, "  (section of a scenario)")
    _paragraph(section.summary)
    click.echo()
    _paragraph(f"Source: {section.source}", 0, 2)
    _details(section.details)
    click.echo("\nKeys")
    for key in _shown(section.keys.values(), every=every):
        _explain_parameter(key, key.name)


def _explain_parameter(parameter: "Parameter", name: str) -> None:
    from airwnd.vocabulary.algorithms import family

    unit = "" if parameter.unit in {"1", "word", "text"} else f" [{parameter.unit}]"
    _heading(name, f"{unit}  {parameter.meaning}", 2, 6)
    facts = [_default(parameter)]
    if parameter.range:
        facts.append(f"{parameter.range[0]} to {parameter.range[1]}")
    if parameter.family:
        kinds = ", ".join(member.name for member in family(parameter.family).members)
        facts.append(f"one of {kinds}: `airwnd list {parameter.family}`")
    if parameter.level != "basic":
        facts.append(parameter.level)
    _paragraph(f"{'; '.join(facts)}; source: {parameter.source}", 6, 8)
    for word, meaning in parameter.words.items():
        _paragraph(f'"{word}"  {meaning}'.rstrip(), 6, 10)


def _default(parameter: "Parameter") -> str:
    default = parameter.default
    if isinstance(default, dict):
        default = default.get("kind", default)
    return "required" if parameter.required else f"default {_value(default)}"


def _explain_preset(preset: "Preset") -> None:
    _heading(preset.name, f"  ({PRESET})")
    _paragraph(preset.summary)
    section = None
    for value in preset.values:
        if value.section != section:
            section = value.section
            click.echo(f"\n{section}" if section else "")
        default = value.default
        if isinstance(default, dict):
            # A member of a family is shown by its name, a section by its values.
            default = default.get("kind", default)
        same = "same as airwnd" if default == value.value else f"airwnd's default {_value(default)}"
        _heading(value.key, f" = {json.dumps(value.value)}", 2, 6)
        _paragraph(f"{same}; {value.source}", 6, 8)


def _explain_compat(compat: "Compat") -> None:
    _heading(compat.name, f"  ({COMPAT})")
    _paragraph(compat.summary)
    _explain_quirks(compat.quirks)


def _explain_quirks(quirks: "tuple[Quirk, ...]") -> None:
    section = None
    for quirk in quirks:
        if quirk.section != section:
            section = quirk.section
            click.echo(f"\nQuirks of {section}")
        _heading(quirk.name, f" = {_value(quirk.value)}  {quirk.meaning}", 2, 6)
        _paragraph(f"otherwise {_value(quirk.default)}; {quirk.source}", 6, 8)


def _explain_stack(stack: "Stack", *, every: bool) -> None:
    from airwnd.vocabulary.sections import sections

    keys = sections()["tcp"].keys
    _heading(stack.name, "  (TCP stack)")
    _paragraph(keys[STACK].words[stack.name])
    click.echo("\nKeys of [tcp]")
    for key in _shown((keys[name] for name in stack.values), every=every):
        _heading(key.name, f" = {_value(stack.values[key.name])}", 2, 6)
        _paragraph(key.meaning, 6)
    _explain_quirks(stack.quirks)


def _explain_table(table: "Table") -> None:
    _heading(table.name, "  (table of results)")
    _paragraph(table.meaning)
    click.echo("\nColumns")
    for column in table.columns.values():
        _explain_column(column, column.name)


def _explain_column(column: "Column", name: str) -> None:
    unit = f" [{column.shown_unit}]" if column.shown_unit else ""
    _heading(name, f"{unit}  ({column.type})", 2, 6)
    _paragraph(column.meaning, 6)


def _explain_term(term: "Term") -> None:
    symbol = f" ({term.symbol})" if term.symbol else ""
    unit = f" [{term.unit}]" if term.unit else ""
    _heading(term.name, f"{symbol}{unit}  (term)")
    _paragraph(term.meaning)
    click.echo()
    _paragraph(f"Source: {term.source}", 0, 2)
    _paragraph(f"Code: {term.code}", 0, 2)
    if term.also:
        _paragraph(f"Elsewhere called: {', '.join(term.also)}", 0, 2)
    if term.see:
        _paragraph(f"See also: {', '.join(f'`airwnd explain {each}`' for each in term.see)}", 0, 2)


def _details(text: str) -> None:
    """Print each paragraph and each equation after an empty line."""
    from airwnd.text.terminal import width
    from airwnd.vocabulary.equations import plain

    for index, part in enumerate(re.split(r"^```math\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)):
        if index % 2:
            click.echo()
            for line in plain(part).splitlines():
                # Cases are aligned by blanks, which a paragraph does not keep.
                if len(line) + 4 > width():
                    _paragraph(line, 4, 8)
                else:
                    click.echo(f"    {line}")
            continue
        for paragraph in filter(str.strip, part.split("\n\n")):
            click.echo()
            _paragraph(" ".join(paragraph.split()))


def _value(value: object) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _heading(name: str, rest: str, indent: int = 0, hanging: int = 2) -> None:
    """Print a paragraph that starts with a name in bold."""
    from airwnd.text.terminal import width, wrapped

    text = wrapped(name + rest, width(), indent, hanging)
    click.echo(text.replace(name, click.style(name, bold=True), 1))


def _paragraph(text: str, indent: int = 0, hanging: int | None = None) -> None:
    from airwnd.text.terminal import width, wrapped

    click.echo(wrapped(text, width(), indent, hanging))


def show_limits(name: str, *, as_json: bool) -> None:
    """Print the limits about a name, or the table of all."""
    from airwnd.vocabulary.limits import Limit, find, limits, topics

    found = find(name) if name else limits()
    if as_json:
        click.echo(json.dumps([_inner(limit) for limit in found], ensure_ascii=False))
        return

    def table(heading: str, chosen: "Iterable[Limit]") -> None:
        click.echo(f"\n{heading}")
        for limit in chosen:
            _heading(limit.id, f"  {limit.affects}", 2, 6)

    if not name:
        click.echo(f"{len(found)} limits; `airwnd explain --limits NAME` explains those of a topic or word")
        table("Limits that change conclusions", (each for each in found if each.importance == 1))
        for topic, heading in topics().items():
            others = (each for each in found if each.topic == topic and each.importance > 1)
            table(f"{heading} ({topic})", others)
        return
    for index, limit in enumerate(found):
        if index:
            click.echo()
        _heading(limit.id, f"  ({topics()[limit.topic]})")
        for text in (
            limit.differs,
            f"Affects: {limit.affects}",
            f"Effect: {limit.effect}",
            f"Why: {limit.why}",
            f"Differs from: {limit.source}",
        ):
            _paragraph(text, 2, 4)


def show_written(values: "Iterable[Written]") -> None:
    """Print the keys that a scenario sets, with their meanings."""
    for each in values:
        line = "--set" if each.line is None else f"line {each.line}"
        parameter = each.parameter
        unit = f" [{parameter.unit}]" if parameter and parameter.unit not in {"1", "word", "text"} else ""
        _heading(each.key, f" = {_value(each.value)}{unit}  ({line})", 2, 6)
        if parameter is None:
            _paragraph("parameter of a plug-in", 6, 8)
            continue
        _paragraph(parameter.meaning, 6)
        _paragraph(_default(parameter), 6, 8)
