"""Django projects on real databases, with real processes."""
