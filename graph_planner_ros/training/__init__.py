"""Training of language models with the task graph's rewards: data, runs, and trl's trainers."""
