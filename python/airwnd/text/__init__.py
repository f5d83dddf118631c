"""Text for people: quantities with units, tables in a terminal, rows of CSV files."""
