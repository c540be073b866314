"""Carrying out actions of the domain with the robot's skills: what to check, when to try again, what to remember."""
