"""Pictures of runs and sweeps, drawn by matplotlib."""
