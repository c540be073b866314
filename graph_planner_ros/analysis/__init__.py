"""What is done with a run afterwards: bags and what they say."""
