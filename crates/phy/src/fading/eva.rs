//! The extended vehicular A channel.

profile! {
    /// EVA: extended vehicular A multipath profile of 3GPP, nine taps within 2.5 us.
    ///
    /// RMS delay spread of 357 ns: the coherence bandwidth is a few RBGs.
    Eva ("TS 36.104 Annex B.2, Table B.2-2") [
        (0, 0.0),
        (30, -1.5),
        (150, -1.4),
        (310, -3.6),
        (370, -0.6),
        (710, -9.1),
        (1090, -7.0),
        (1730, -12.0),
        (2510, -16.9)
    ]
}
