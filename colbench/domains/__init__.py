"""The domains that come with ColBench, one package each; they are found by their entry points."""
