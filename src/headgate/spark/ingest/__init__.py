"""How tuples get into the engine: sources, the thread that reads them, stream logs, dead letters and their replay."""
