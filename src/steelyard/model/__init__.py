"""Frozen records: trace, standard, verdict, score table. One vocabulary for every room."""
