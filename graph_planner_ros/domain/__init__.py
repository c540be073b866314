"""The planning domain (PDDL and the YAML beside it), symbolic states, goals, names and wording."""
