//! The TDL-E channel.

//= TR 38.901 §7.7.2
profile! {
    /// TDL-E: tapped delay line of 3GPP with a line of sight (K = 22 dB), 14 other taps within 20.7 delay spreads.
    ///
    /// The first path does not fade.
    TdlE ("TR 38.901 §7.7.2, Table 7.7.2-5") scaled {line_of_sight -0.03} [
        (0.0, -22.03),
        (0.5133, -15.8),
        (0.544, -18.1),
        (0.563, -19.8),
        (0.544, -22.9),
        (0.7112, -22.4),
        (1.9092, -18.6),
        (1.9293, -20.8),
        (1.9589, -22.6),
        (2.6426, -22.3),
        (3.7136, -25.6),
        (5.4524, -20.2),
        (12.0034, -29.8),
        (20.6519, -29.2)
    ]
}
