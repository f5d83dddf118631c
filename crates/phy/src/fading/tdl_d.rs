//! The TDL-D channel.

//= TR 38.901 §7.7.2
profile! {
    /// TDL-D: tapped delay line of 3GPP with a line of sight (K = 13.3 dB), 13 other taps within 12.5 delay spreads.
    ///
    /// The first path does not fade.
    TdlD ("TR 38.901 §7.7.2, Table 7.7.2-4") scaled {line_of_sight -0.2} [
        (0.0, -13.5),
        (0.035, -18.8),
        (0.612, -21.0),
        (1.363, -22.8),
        (1.405, -17.9),
        (1.804, -20.1),
        (2.596, -21.9),
        (1.775, -22.9),
        (4.042, -27.8),
        (7.937, -23.6),
        (9.424, -24.8),
        (9.708, -30.0),
        (12.525, -27.7)
    ]
}
