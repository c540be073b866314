"""Graph-in-Graph memory (GiG): scene graphs as embeddings, episodes as graphs of them, experience to look up."""
