"""One module per kind of check, each with `VERSION` and `grade(spec, given)`. They do not know each other."""
