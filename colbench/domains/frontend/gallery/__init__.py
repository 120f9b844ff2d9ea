"""The gallery of a frontend design run: pictures of the run's pages, next to the report."""
