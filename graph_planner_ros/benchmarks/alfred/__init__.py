"""ALFRED's annotations as a benchmark of understanding and planning: instruction and what is present -> plan."""
