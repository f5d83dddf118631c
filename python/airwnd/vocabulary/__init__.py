"""The engine's vocabulary: algorithms, parameters, columns, presets, terms, and topics made of them."""
