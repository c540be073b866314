"""The belief: scene graph, relations, plausibility, merging, skill effects, planning facts, storage."""
