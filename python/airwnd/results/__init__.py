"""Results as data: a call of the engine, its tables as frames, their folders on disk, and their summaries."""
