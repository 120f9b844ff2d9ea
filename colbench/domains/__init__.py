"""The domains that come with ColBench, one package each. ColBench finds them by their entry points."""
