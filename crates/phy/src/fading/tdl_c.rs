//! The TDL-C channel.

#![expect(clippy::approx_constant, reason = "a delay that is close to 2 / pi by chance")]

//= TR 38.901 §7.7.2
profile! {
    /// TDL-C: tapped delay line of 3GPP without a line of sight, 24 taps within 8.7 delay spreads.
    ///
    /// The strongest path is the sixth to arrive.
    TdlC ("TR 38.901 §7.7.2, Table 7.7.2-3") scaled [
        (0.0, -4.4),
        (0.2099, -1.2),
        (0.2219, -3.5),
        (0.2329, -5.2),
        (0.2176, -2.5),
        (0.6366, 0.0),
        (0.6448, -2.2),
        (0.656, -3.9),
        (0.6584, -7.4),
        (0.7935, -7.1),
        (0.8213, -10.7),
        (0.9336, -11.1),
        (1.2285, -5.1),
        (1.3083, -6.8),
        (2.1704, -8.7),
        (2.7105, -13.2),
        (4.2589, -13.9),
        (4.6003, -13.9),
        (5.4902, -15.8),
        (5.6077, -17.1),
        (6.3065, -16.0),
        (6.6374, -15.7),
        (7.0427, -21.6),
        (8.6523, -22.8)
    ]
}
