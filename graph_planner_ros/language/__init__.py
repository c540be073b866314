"""Between words and symbols: instructions to goals."""
