"""Measurements: the planner core against fixed problems, and the whole system in the kitchen."""
