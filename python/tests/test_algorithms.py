"""The catalogue of algorithms, as Python sees it."""

import pytest

from airwnd import InputError, algorithms, catalogue


def test_every_algorithm_and_parameter_names_its_source() -> None:
    members = [member for family in catalogue() for member in family.members]
    assert len(members) >= 4
    for member in members:
        assert member.summary, member
        assert member.source, member
        for param in member.params:
            assert param.meaning, (member.name, param)
            assert param.unit, (member.name, param)
            assert param.source, (member.name, param)


def test_an_algorithm_is_found_by_its_name_or_within_its_family() -> None:
    assert algorithms.find("rwnd/drwa") == algorithms.find("drwa")
    with pytest.raises(InputError, match="did you mean"):
        algorithms.find("drwx")
