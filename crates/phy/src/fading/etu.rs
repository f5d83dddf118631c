//! The extended typical urban channel.

profile! {
    /// ETU: extended typical urban multipath profile of 3GPP, nine taps within 5 us.
    ///
    /// RMS delay spread of 991 ns: gains differ between adjacent PRBs.
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
