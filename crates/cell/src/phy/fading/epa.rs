//! The extended pedestrian A channel.

profile! {
    /// EPA: the extended pedestrian A channel of LTE's tests, seven taps within 410 ns.
    ///
    /// A spread of 43 ns (root mean square): several megahertz fade alike.
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
