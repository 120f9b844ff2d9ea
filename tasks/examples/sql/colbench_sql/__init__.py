"""Reports in SQL, as a domain of ColBench."""
