"""Worlds that nobody here wrote, played through text: adapters, the agent that plays them, and the papers' tables."""
