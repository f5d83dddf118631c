"""Load over the hours of a day."""

from airwnd.support.errors import InputError

# EARTH D2.3 (Auer et al., 2012), daily traffic profile: active users over the hours of a day in Europe,
# relative to the busiest hour. Means over an hour of the figure's curve, digitized in
# https://github.com/tmc-calc/mob-traffic-ds.
LOAD = (
    0.72, 0.53, 0.36, 0.25, 0.18, 0.15, 0.16, 0.22, 0.32, 0.44, 0.55, 0.62,
    0.65, 0.67, 0.70, 0.74, 0.77, 0.79, 0.83, 0.89, 0.96, 1.00, 0.97, 0.87,
)  # fmt: skip
BUSIEST = LOAD.index(max(LOAD))


def active(ues: int, hour: int) -> int:
    """Return the number of active UEs in an hour, given that of the busiest hour.

    Examples
    --------
    >>> active(1000, 21), active(1000, 5), active(1, 5)
    (1000, 150, 1)
    """
    if not 0 <= hour < len(LOAD):
        raise InputError(f"hour: expected 0 to {len(LOAD) - 1}, found {hour}")
    return max(1, round(ues * LOAD[hour]))
