"""``airwnd list`` and ``airwnd explain``: algorithms, presets, and columns of results."""

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from airwnd.algorithms import Algorithm
    from airwnd.columns import Column
    from airwnd.preset import Preset

# The word for presets beside the names of families.
PRESET = "preset"


@click.command(name="list")
@click.argument("family", required=False)
def list_(family: str | None) -> None:
    """List the algorithms and the presets, or those of one FAMILY with their sources."""
    from airwnd import algorithms

    if family == PRESET:
        _list_presets()
        return
    families = [algorithms.family(family)] if family else algorithms.catalogue()
    for index, each in enumerate(families):
        click.echo(("\n" if index else "") + click.style(each.name, bold=True) + f"  {each.summary}")
        width = max(len(member.name) for member in each.members)
        for member in each.members:
            source = f" [{member.source}]" if family else ""
            click.echo(f"  {member.name:<{width}}  {member.summary}{source}")
    if not family:
        click.echo()
        _list_presets()


def _list_presets() -> None:
    from airwnd.preset import presets

    click.echo(
        click.style(PRESET, bold=True) + "  Another simulator's values for what a scenario does not write."
    )
    for preset in presets():
        click.echo(f"  {preset.name}  {preset.summary}")


@click.command()
@click.argument("name")
def explain(name: str) -> None:
    """Explain the algorithm NAME or FAMILY/NAME, a preset, the table NAME of results, or TABLE.COLUMN.

    An algorithm is shown with its parameters and sources, a preset (NAME, or preset for all) with what
    it sets, a column of results with its unit and meaning.
    """
    from airwnd import algorithms, columns
    from airwnd.preset import presets

    among = [preset for preset in presets() if name in (PRESET, preset.name, f"{PRESET}/{preset.name}")]
    for index, preset in enumerate(among):
        if index:
            click.echo()
        _explain_preset(preset)
    if among:
        return
    if name in columns.tables():
        table = columns.tables()[name]
        click.echo(f"{click.style(table.name, bold=True)}  (table of results)\n{table.meaning}\n\nColumns")
        for column in table.columns.values():
            _explain_column(column, column.name)
        return
    if "." in name:
        _explain_column(columns.find(name), name)
        return
    for index, algorithm in enumerate(algorithms.find(name)):
        if index:
            click.echo()
        _explain(algorithm)


def _explain_preset(preset: "Preset") -> None:
    click.echo(f"{click.style(preset.name, bold=True)}  ({PRESET})\n{preset.summary}")
    section = None
    for value in preset.values:
        if value.section != section:
            section = value.section
            click.echo(f"\n{section}")
        default = value.default
        if isinstance(default, dict):
            # A member of a family goes by its name, a section by its values.
            default = default.get("kind", default)
        own = "none" if default is None else json.dumps(default)
        same = "airwnd's default, too" if default == value.value else f"airwnd's default {own}"
        click.echo(
            f"  {click.style(value.key, bold=True)} = {json.dumps(value.value)}\n      {same}; {value.source}"
        )


def _explain_column(column: "Column", name: str) -> None:
    unit = f" [{column.shown_unit}]" if column.shown_unit else ""
    click.echo(f"  {click.style(name, bold=True)}{unit}  ({column.type})\n      {column.meaning}")


def _explain(algorithm: "Algorithm") -> None:
    click.echo(click.style(algorithm.name, bold=True) + f"  ({algorithm.family})")
    click.echo(f"{algorithm.summary}\n\nSource: {algorithm.source}")
    if algorithm.details.strip():
        click.echo(f"\n{algorithm.details.strip()}")
    click.echo("\nParameters" if algorithm.params else "\nNo parameters.")
    for param in algorithm.params:
        unit = "" if param.unit == "1" else f" [{param.unit}]"
        click.echo(f"  {click.style(param.name, bold=True)}{unit}  {param.meaning}")
        default = "none" if param.default is None else json.dumps(param.default)
        facts = ["required" if param.required else f"default {default}"]
        if param.range:
            facts.append(f"{param.range[0]} to {param.range[1]}")
        click.echo(f"      {'; '.join(facts)}; source: {param.source}")
