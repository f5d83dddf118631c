"""The engine's catalogue: algorithms, parameters, columns, presets, terms, and topics made of them."""
