"""Parts for frameworks. Each needs its framework, and is imported by its own name."""
