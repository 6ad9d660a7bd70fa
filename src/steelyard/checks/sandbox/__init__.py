"""Where the code of a `python` check runs: Monty, bubblewrap, or a plain process for code that is trusted."""
