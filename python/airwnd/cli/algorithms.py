"""``airwnd list`` and ``airwnd explain``."""

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from airwnd.algorithms import Algorithm


@click.command(name="list")
@click.argument("family", required=False)
def list_(family: str | None) -> None:
    """List the algorithms, or those of one FAMILY with their sources."""
    from airwnd import algorithms

    families = [algorithms.family(family)] if family else algorithms.catalogue()
    for index, each in enumerate(families):
        click.echo(("\n" if index else "") + click.style(each.name, bold=True) + f"  {each.summary}")
        width = max(len(member.name) for member in each.members)
        for member in each.members:
            source = f" [{member.source}]" if family else ""
            click.echo(f"  {member.name:<{width}}  {member.summary}{source}")


@click.command()
@click.argument("name")
def explain(name: str) -> None:
    """Explain the algorithm NAME, or FAMILY/NAME: how it works, its parameters, its sources."""
    from airwnd import algorithms

    for index, algorithm in enumerate(algorithms.find(name)):
        if index:
            click.echo()
        _explain(algorithm)


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
