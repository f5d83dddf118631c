//! The extended pedestrian A channel.

profile! {
    /// EPA: extended pedestrian A multipath profile of 3GPP, seven taps within 410 ns.
    ///
    /// RMS delay spread of 43 ns: the coherence bandwidth is several megahertz.
    Epa ("TS 36.104 Annex B.2, Table B.2-1") [
        (0, 0.0),
        (30, -1.0),
        (70, -2.0),
        (90, -3.0),
        (110, -8.0),
        (190, -17.2),
        (410, -20.8)
    ]
}
