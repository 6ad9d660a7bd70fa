"""Doors from other tools into Steelyard: pytest."""
