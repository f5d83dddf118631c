//! The extended typical urban channel.

profile! {
    /// ETU: the extended typical urban channel of LTE's tests, nine taps within 5 us.
    ///
    /// A spread of 991 ns (root mean square): neighbouring resource blocks differ.
    Etu ("TS 36.104 Annex B.2, Table B.2-3") [
        (0, -1.0),
        (50, -1.0),
        (120, -1.0),
        (200, 0.0),
        (230, 0.0),
        (500, 0.0),
        (1600, -3.0),
        (2300, -5.0),
        (5000, -7.0)
    ]
}
