"""An example of a package that adds a domain to ColBench: reports in SQL."""
